// The registries of a process: the newest complete version, and never a part of one.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RegistryVersionEvent } from '../../../directory/registry/contract.ts';
import { registryCache } from '../../../directory/registry/registry-cache.ts';
import { type RegistryWatcher, watchRegistries } from '../../../directory/registry/registry-watcher.ts';
import { RegistryVersions } from '../../../directory/registry/versions.ts';
import { until } from '../../support/until.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { within } from '../../support/running-clock.ts';
import { type InboundConsumer, nationals, openInboundConsumer } from './harness.ts';

let harness: TestBus;
let inboundConsumer: InboundConsumer;
let keeper: RegistryWatcher | null = null;
const received: RegistryVersionEvent[] = [];

beforeEach(async () => {
  harness = await startBus();
  inboundConsumer = openInboundConsumer();
  received.length = 0;
});
afterEach(async () => {
  keeper?.stop();
  keeper = null;
  inboundConsumer.close();
  await harness.stop();
});

const keep = async () =>
  (keeper = await watchRegistries(harness.bus, (registryUpdate) => void received.push(registryUpdate)));
const versionsSeen = () => received.map((registryUpdate) => `${registryUpdate.name} ${registryUpdate.version}`);
const firstChunk = async () => {
  const versions = await RegistryVersions.open(harness.bus);
  const pointer = await versions.current('dnd');
  return { versions, key: `dnd.chunk.${pointer?.value.sha256.slice(0, 32)}.0` };
};

test('nothing was imported: nothing is known, and no message is refused', async () => {
  expect((await keep()).registryUpdate()).toEqual([]);
  expect(registryCache([]).current()).toEqual({ dnd: null, ported: null });
});

test('the version in effect at the start is loaded when the start is over', async () => {
  const { version } = await inboundConsumer.import(harness.bus, inboundConsumer.file('one.csv', nationals(1_000)));
  const holder = registryCache((await keep()).registryUpdate());
  const { dnd } = holder.current();
  expect(dnd).toMatchObject({ version, count: 1_000 });
  expect(dnd !== null && dnd !== 'unknown' && dnd.markOf(`+880${nationals(1)[0]}`)).toBe(4);
});

test('versions replace each other within a second or two, each for all threads the same memory', async () => {
  const promised = within(2_000);
  await keep();
  const first = await inboundConsumer.import(harness.bus, inboundConsumer.file('one.csv', nationals(10)));
  await until('the first', () => versionsSeen().includes(`dnd ${first.version}`), promised);
  const second = await inboundConsumer.import(harness.bus, inboundConsumer.file('two.csv', nationals(20)));
  await until('the second', () => versionsSeen().includes(`dnd ${second.version}`), promised);
  const [registryUpdate] = keeper?.registryUpdate() ?? [];
  expect(registryUpdate !== undefined && 'buffer' in registryUpdate && registryUpdate.buffer).toBeInstanceOf(
    SharedArrayBuffer,
  );
});

describe('an incomplete version', () => {
  test('leaves the previous one in effect, and is used when it is complete again', async () => {
    const first = await inboundConsumer.import(harness.bus, inboundConsumer.file('one.csv', nationals(10)));
    await keep();
    const versions = await RegistryVersions.open(harness.bus);
    const before = await versions.current('dnd');
    if (before === null) throw new Error('nothing was imported');
    // A pointer to chunks that do not hash to it, as after a disk fault.
    const broken = { ...before.value, number: 2, sha256: `${before.value.sha256.slice(0, 32)}${'0'.repeat(32)}` };
    await versions.kv.put('dnd.current', JSON.stringify(broken));
    const failed = async () => {
      const { values } = await metrics.registryLoads.get();
      return values.find(({ labels }) => labels.ended === 'failed')?.value ?? 0;
    };
    const failedBefore = await failed();
    await until('two looks at it', async () => (await failed()) >= failedBefore + 2);
    expect(keeper?.registryUpdate().map((registryUpdate) => registryUpdate.version)).toEqual([first.version]);
    await versions.kv.put('dnd.current', JSON.stringify({ ...before.value, number: 3 }));
    await until('it is whole', () => versionsSeen().some((version) => version.startsWith('dnd 3-')));
  });

  test('at the start means unknown, not empty', async () => {
    await inboundConsumer.import(harness.bus, inboundConsumer.file('one.csv', nationals(10)));
    const { versions, key } = await firstChunk();
    const chunk = (await versions.kv.get(key))?.value ?? new Uint8Array();
    await versions.kv.put(key, chunk.slice(0, 10));
    const { registryUpdate } = await keep();
    expect(registryUpdate()).toEqual([{ name: 'dnd', version: 'unknown' }]);
    expect(registryCache(registryUpdate()).current().dnd).toBe('unknown');
    await versions.kv.put(key, chunk);
    await until('it is known', () => versionsSeen().length === 2);
    expect(registryCache(registryUpdate()).current().dnd).toMatchObject({ count: 10 });
  });
});

test('a bucket that lost everything does not remove the version from memory', async () => {
  const { version } = await inboundConsumer.import(harness.bus, inboundConsumer.file('one.csv', nationals(10)));
  await keep();
  await harness.bus.manager.streams.purge('KV_registry');
  await harness.nats.kill9();
  await harness.nats.restart();
  await until('NATS is back', () => harness.bus.connected());
  expect(keeper?.registryUpdate().map((registryUpdate) => registryUpdate.version)).toEqual([version]);
  const next = await inboundConsumer.import(harness.bus, inboundConsumer.file('two.csv', nationals(20)));
  await until('the next version', () => versionsSeen().includes(`dnd ${next.version}`));
});
