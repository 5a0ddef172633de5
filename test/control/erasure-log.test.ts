// What the eraser logs while NATS does not answer and no erasure was ordered.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { cancellations } from '../../cluster/bus/cancellations.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { numberKey } from '../../cluster/bus/installation-secret.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { type Eraser, startEraser } from '../../control/erasure/eraser.ts';
import { NumberHashes } from '../../model/number-hash.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { systemClock } from '../../platform/clock.ts';
import { log } from '../../platform/log.ts';
import { secretBytes } from '../../platform/random.ts';
import { type DirectoryHarness, openDirectoryHarness } from '../support/directory-harness.ts';
import { serverProcess, suspend } from '../support/processes.ts';
import { until } from '../support/until.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-erasure-log-'));
let harness: DirectoryHarness;
let publisher: Publisher;
let eraser: Eraser;

beforeAll(async () => {
  harness = await openDirectoryHarness();
  publisher = new Publisher(harness.bus);
  const { bus, store } = harness;
  eraser = startEraser({
    ...{ bus, store, publisher, dataDir, clock: systemClock },
    numbers: new NumberHashes(await numberKey(bus)),
    cipher: bodyCipher([secretBytes(32)]),
    events: new EventWriter(publisher),
    cancellations: cancellations(bus, publisher),
  });
});
afterAll(async () => {
  await eraser.close();
  publisher.close();
  await harness.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

test('a nats-server that does not answer is no erasure that is tried again', async () => {
  const warn = vi.spyOn(log, 'warn');
  const said = (what: string) => warn.mock.calls.filter(([, text]) => text === what).length;
  const { pid } = await serverProcess(harness.nats.dataDir, 'nats-server');
  await suspend(pid);
  try {
    await until('it is said', () => said('the list of erasures cannot be read now') > 0);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  expect(said('an erasure is tried again')).toBe(0);
  warn.mockRestore();
});
