// The analytics role with the operator's SQL: a process that records, and answers at the port of heliograph.yaml to who has
// the token; without the token it does not start.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newErasure } from '../../../cluster/bus/erasures.ts';
import { addToErasuresFile } from '../../../cluster/bus/erasures-file.ts';
import { numberKey } from '../../../cluster/bus/installation-secret.ts';
import { freePort } from '../../../cluster/embedded/ports.ts';
import { NumberHashes } from '../../../model/number-hash.ts';
import { systemClock } from '../../../platform/clock.ts';
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

test('of a store that was restored nothing is answered before what was erased since is erased again', async () => {
  const dataDir = join(dir, 'restored');
  const settings = { HELIOGRAPH_CONFIG: configFile, HELIOGRAPH_SQL_TOKEN: token };
  const person = contextOf();
  const ask = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/sql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: `SELECT toUInt32(count()) AS n FROM sms_events WHERE recipient = '${person.recipient}'`,
    });
    return [response.status, await response.json()];
  };
  const first = await startRole(events.nats.url, dataDir, settings);
  await events.publish(lifeOf(person));
  const has = (n: number) => async () => JSON.stringify(await ask()) === JSON.stringify([200, [{ n }]]);
  await until('it is recorded', has(3));
  await first.end('SIGTERM');
  const numbers = new NumberHashes(await numberKey(events.bus));
  const by = { name: 'operator', from: 'test' };
  const atMs = systemClock.nowMs();
  const erasure = newErasure(atMs, { ...numbers.markOf(person.recipient), accountId: null, atMs, by });
  // Known from the file alone: NATS was restored, too.
  addToErasuresFile(dataDir, erasure);
  const health: string[] = [];
  const restored = await startRole(events.nats.url, dataDir, settings, (child) =>
    child.on('message', ({ type, detail }: { type: string; detail: string }) => {
      if (type === 'health') health.push(detail);
    }),
  );
  const why = 'the store was restored and is read when erasures are carried out again (1 left)';
  expect(await ask()).toEqual([503, expect.objectContaining({ code: 'sql_unavailable', detail: why })]);
  const answers = await until('it is read again', async () => {
    const answer = await ask();
    return answer[0] === 200 ? [answer] : null;
  });
  expect(answers).toEqual([[200, [{ n: 0 }]]]);
  await until('its health says so', () => health.at(-1) === 'recording');
  expect(health[0]).toBe(`recording; ${why}`);
  await restored.end('SIGTERM');
});

test('does not start without a token', async () => {
  const start = startRole(events.nats.url, join(dir, 'without'), { HELIOGRAPH_CONFIG: configFile });
  await expect(start).rejects.toThrow('expected HELIOGRAPH_SQL_TOKEN');
});
