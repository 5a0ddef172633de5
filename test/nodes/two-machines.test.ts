// Two machines in production form: two whole supervisors on one NATS, the second one for carriers only. A kill of
// everything on the second loses nothing that was accepted, and its binds return to the first.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/until.ts';
import { ignoring } from '../../platform/errors.ts';
import { type SmscPeers, startSmscPeers } from '../support/smsc-peers.ts';
import { demoKeysOf } from '../support/demo-keys.ts';
import { type TestNats, startNats } from '../support/nats.ts';
import { freePort } from '../../cluster/embedded/ports.ts';
import { processesOf } from '../support/processes.ts';
import { assertClean, settledReconciliation } from '../support/reconciliation.ts';
import { SmsClient } from '../support/sms-client.ts';
import { type TestSystem, endSystems, startSystem } from '../support/system.ts';
import { sendTraffic } from '../support/traffic.ts';

let nats: TestNats;
let smscPeers: SmscPeers;
let first: TestSystem;
let second: TestSystem;
let client: SmsClient;

beforeAll(async () => {
  nats = await startNats();
  smscPeers = await startSmscPeers({ responseMs: 'uniform:5,40', receiptMs: 'uniform:50,400', window: 20 });
  const configFile = join(nats.dataDir, 'heliograph.yaml');
  writeFileSync(configFile, smscPeers.configuration);
  const httpPort = await freePort();
  const common = {
    NATS_URL: nats.url,
    HELIOGRAPH_CONFIG: configFile,
    HELIOGRAPH_BODY_KEY: Buffer.alloc(32, 5).toString('base64'),
  };
  first = await startSystem({ realRoles: true, env: { ...common, HELIOGRAPH_HTTP_PORT: String(httpPort) } });
  await first.ready();
  second = await startSystem({ realRoles: true, env: { ...common, HELIOGRAPH_ROLES: 'carriers' } });
  await second.ready();
  const keys = await demoKeysOf(first.dataDir, httpPort);
  client = new SmsClient(httpPort, keys.liveKey);
});

afterAll(async () => {
  client?.close();
  await endSystems();
  await smscPeers?.close();
  await nats?.stop();
});

/** What the carriers' line of a machine's health says: binds that are up, of all carriers but the sandbox. */
async function bindsOf(system: TestSystem): Promise<number> {
  const children = (await system.readiness())?.children ?? [];
  const detail = children.find(({ name }) => name === 'actors')?.detail ?? '';
  return [...detail.matchAll(/(?:alpha|beta|gamma) (\d+)\//g)].reduce((sum, each) => sum + Number(each[1]), 0);
}

const bindsNow = () => Object.values(smscPeers.carriers).reduce((sum, carrier) => sum + carrier.stats().binds.now, 0);

test('six binds of three carriers are spread over both machines, and a killed machine costs only submits without an answer', async () => {
  await until('three binds each', async () => (await bindsOf(first)) === 3 && (await bindsOf(second)) === 3, {
    everyMs: 200,
  });
  expect(bindsNow()).toBe(6);
  const sending = sendTraffic(client, { ratePerSecond: 60, seconds: 8, seed: 3 });
  await until('a quarter of it', () => smscPeers.taken() > 120);
  // Everything of it at once, as in a power cut.
  for (const line of await processesOf(second.dataDir)) {
    try {
      process.kill(Number(line.split(' ')[0]), 'SIGKILL');
    } catch (error) {
      ignoring(error, 'it ended when those before it were killed');
    }
  }
  if (second.process.exitCode === null) second.process.kill('SIGKILL');
  const promised = await sending;
  await until('all six on the first', async () => (await bindsOf(first)) === 6, { everyMs: 200 });
  const reconciliation = await settledReconciliation({ client, smscPeers }, promised);
  const { statuses, ...wrong } = reconciliation;
  const { statuses: _none, ...nothing } = { ...assertClean, statuses: {} };
  // What it had begun and never sent is reported as unknown, as after every kill.
  expect({ ...wrong, lost: [] }).toEqual({ ...nothing, lost: [] });
  expect((statuses['delivered'] ?? 0) + (statuses['unknown'] ?? 0)).toBe(promised.length);
  expect(statuses['unknown'] ?? 0).toBeLessThanOrEqual(3 * 20);
}, 180_000);
