// What a process holds of the registries: the newest complete version, and never a part of one.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RegistryNews } from '../../../directory/registry/contract.ts';
import { registryHolder } from '../../../directory/registry/holder.ts';
import { type RegistryKeeper, keepRegistries } from '../../../directory/registry/keeper.ts';
import { RegistryVersions } from '../../../directory/registry/versions.ts';
import { until } from '../../../platform/deadline.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { within } from '../../support/running-clock.ts';
import { type Desk, nationals, openDesk } from './harness.ts';

let house: TestBus;
let desk: Desk;
let keeper: RegistryKeeper | null = null;
const heard: RegistryNews[] = [];

beforeEach(async () => {
  house = await startBus();
  desk = openDesk();
  heard.length = 0;
}, 30_000);
afterEach(async () => {
  keeper?.stop();
  keeper = null;
  desk.close();
  await house.stop();
});

const keep = async () => (keeper = await keepRegistries(house.bus, (news) => void heard.push(news)));
const versionsHeard = () => heard.map((news) => `${news.name} ${news.version}`);
const firstChunk = async () => {
  const versions = await RegistryVersions.open(house.bus);
  const pointer = await versions.current('dnd');
  return { versions, key: `dnd.chunk.${pointer?.value.sha256.slice(0, 32)}.0` };
};

test('nothing was imported: nothing is known, and nobody is refused', async () => {
  expect((await keep()).news()).toEqual([]);
  expect(registryHolder([]).current()).toEqual({ dnd: null, ported: null });
});

test('what is in force at the start is there when the start is over', async () => {
  const { version } = await desk.import(house.bus, desk.file('one.csv', nationals(1_000)));
  const holder = registryHolder((await keep()).news());
  const { dnd } = holder.current();
  expect(dnd).toMatchObject({ version, count: 1_000 });
  expect(dnd !== null && dnd !== 'unknown' && dnd.markOf(`+880${nationals(1)[0]}`)).toBe(4);
});

test('versions follow each other within a second or two, each for all threads the same memory', async () => {
  const promised = within(2_000);
  await keep();
  const first = await desk.import(house.bus, desk.file('one.csv', nationals(10)));
  await until('the first', () => versionsHeard().includes(`dnd ${first.version}`), promised);
  const second = await desk.import(house.bus, desk.file('two.csv', nationals(20)));
  await until('the second', () => versionsHeard().includes(`dnd ${second.version}`), promised);
  const [news] = keeper?.news() ?? [];
  expect(news !== undefined && 'buffer' in news && news.buffer).toBeInstanceOf(SharedArrayBuffer);
});

describe('a version that is not whole', () => {
  test('leaves the one before in force, and is taken when it is whole again', async () => {
    const first = await desk.import(house.bus, desk.file('one.csv', nationals(10)));
    await keep();
    const versions = await RegistryVersions.open(house.bus);
    const before = await versions.current('dnd');
    if (before === null) throw new Error('nothing was imported');
    // A pointer to chunks that do not hash to it, as after a disk that lies.
    const broken = { ...before.value, number: 2, sha256: `${before.value.sha256.slice(0, 32)}${'0'.repeat(32)}` };
    await versions.kv.put('dnd.current', JSON.stringify(broken));
    const failed = async () => {
      const { values } = await metrics.registryLoads.get();
      return values.find(({ labels }) => labels.ended === 'failed')?.value ?? 0;
    };
    const failedBefore = await failed();
    await until('two looks at it', async () => (await failed()) >= failedBefore + 2);
    expect(keeper?.news().map((news) => news.version)).toEqual([first.version]);
    await versions.kv.put('dnd.current', JSON.stringify({ ...before.value, number: 3 }));
    await until('it is whole', () => versionsHeard().some((version) => version.startsWith('dnd 3-')));
  });

  test('at the start means unknown, not empty', async () => {
    await desk.import(house.bus, desk.file('one.csv', nationals(10)));
    const { versions, key } = await firstChunk();
    const chunk = (await versions.kv.get(key))?.value ?? new Uint8Array();
    await versions.kv.put(key, chunk.slice(0, 10));
    const { news } = await keep();
    expect(news()).toEqual([{ name: 'dnd', version: 'unknown' }]);
    expect(registryHolder(news()).current().dnd).toBe('unknown');
    await versions.kv.put(key, chunk);
    await until('it is known', () => versionsHeard().length === 2);
    expect(registryHolder(news()).current().dnd).toMatchObject({ count: 10 });
  });
});

test('a bucket that lost everything does not take the version out of memory', async () => {
  const { version } = await desk.import(house.bus, desk.file('one.csv', nationals(10)));
  await keep();
  await house.bus.manager.streams.purge('KV_registry');
  await house.nats.kill9();
  await house.nats.restart();
  await until('NATS is back', () => house.bus.connected());
  expect(keeper?.news().map((news) => news.version)).toEqual([version]);
  const next = await desk.import(house.bus, desk.file('two.csv', nationals(20)));
  await until('the next version', () => versionsHeard().includes(`dnd ${next.version}`));
}, 30_000);
