// The analytics role with the operator's SQL: a process that records, and answers at the port of heliograph.yaml to who has
// the token; without the token it does not start.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../../cluster/embedded/ports.ts';
import { type EventBus, startEventBus } from '../support/event-bus.ts';
import { contextOf, lifeOf } from '../support/events.ts';
import { startRole } from '../support/role.ts';
import { until } from '../../support/until.ts';

const dir = mkdtempSync(join(tmpdir(), 'heliograph-sql-role-'));
const token = 's'.repeat(32);
let events: EventBus;
let port: number;
let configFile: string;

beforeAll(async () => {
  events = await startEventBus();
  port = await freePort();
  configFile = join(dir, 'heliograph.yaml');
  writeFileSync(
    configFile,
    `country: { name: Test, calling_code: "+880", national_lengths: [10], prefixes: {} }
carriers: []
analytics: { sql_endpoint: { port: ${port} } }
`,
  );
});
afterAll(async () => {
  await events?.stop();
  rmSync(dir, { recursive: true, force: true });
});

test('reads what was recorded, and ends in order', async () => {
  const settings = { HELIOGRAPH_CONFIG: configFile, HELIOGRAPH_SQL_TOKEN: token };
  const role = await startRole(events.nats.url, join(dir, 'data'), settings);
  await events.publish(lifeOf(contextOf()));
  const ask = () =>
    fetch(`http://127.0.0.1:${port}/sql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: 'SELECT status, sum(messages) AS n FROM message_counts GROUP BY status HAVING n != 0',
    });
  const rows = async () => JSON.stringify(await (await ask()).json());
  await until('the message is counted', async () => (await rows()) === '[{"status":"delivered","n":1}]');
  await role.end('SIGTERM');
  expect([role.child.exitCode, role.child.signalCode]).toEqual([0, null]);
});

test('does not start without a token', async () => {
  const start = startRole(events.nats.url, join(dir, 'without'), { HELIOGRAPH_CONFIG: configFile });
  await expect(start).rejects.toThrow('expected HELIOGRAPH_SQL_TOKEN');
});
