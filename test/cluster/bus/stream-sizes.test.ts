// The sizes of streams are settings: they fit into the server's bound, and a larger one is in effect at the next start.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureStreams } from '../../../cluster/bus/ensure.ts';
import { streamBoundsDefault } from '../../../cluster/bus/streams.ts';
import { parseConfiguration } from '../../../config/parse.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { storeMbNeeded, streamMbDefault } from '../../../platform/limits-streams.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { testland } from '../../support/testland.ts';

let test_: TestBus;
beforeAll(async () => {
  test_ = await startBus();
});
afterAll(() => test_.stop());

const streams = {
  events: 'EVENTS',
  holds: 'HOLDS',
  later: 'LATER',
  inbound: 'INBOUND',
  dead: 'DEAD',
  idempotency: 'KV_idempotency',
} as const;
const mbOf = async (stream: string) => (await test_.bus.manager.streams.info(stream)).config.max_bytes / 2 ** 20;
const names = Object.keys(streams) as (keyof typeof streams)[];

test('what the streams may hold is what the sizes are said to need, and the defaults fit', async () => {
  let reserved = 0;
  for await (const { config } of test_.bus.manager.streams.list()) {
    expect([config.name, config.max_bytes > 0]).toEqual([config.name, true]);
    reserved += config.max_bytes / 2 ** 20;
  }
  const needed = storeMbNeeded(streamMbDefault, defaultShares);
  expect(needed).toBeGreaterThanOrEqual(reserved);
  expect(needed).toBeLessThanOrEqual(28_672);
});

test('a stream made with one size has another after the next start, and keeps its records', async () => {
  for (const name of names) expect([name, await mbOf(streams[name])]).toEqual([name, streamMbDefault[name]]);
  await test_.bus.jetstream.publish('ev.alpha.0', 'kept');
  const grown = Object.fromEntries(names.map((name) => [name, streamMbDefault[name] + 100])) as typeof streamMbDefault;
  await ensureStreams(test_.bus, { ...streamBoundsDefault, streamMb: grown });
  for (const name of names) expect([name, await mbOf(streams[name])]).toEqual([name, streamMbDefault[name] + 100]);
  expect((await test_.bus.manager.streams.info('EVENTS')).state.messages).toBe(1);
});

const file = (limits: string) => `${testland}carriers:
  - name: alpha
    tps: 10
    simulate: true
limits: { ${limits} }
`;

test('heliograph.yaml sets single sizes; the others keep their defaults', () => {
  const { limits } = parseConfiguration(file('streams: { events_mb: 4200 }'), 'heliograph.yaml', {});
  expect(limits.streamMb).toEqual({ ...streamMbDefault, events: 4_200 });
});

test('sizes that do not fit into stream_store_mb_max are refused, with the size that is needed', () => {
  const parse = (text: string) => () => parseConfiguration(file(text), 'heliograph.yaml', {});
  expect(parse('streams: { events_mb: 40960 }')).toThrow(/limits: all streams and buckets may hold \d+ MiB/);
  const needed = storeMbNeeded({ ...streamMbDefault, events: 40_960 }, defaultShares);
  expect(parse(`streams: { events_mb: 40960 }, stream_store_mb_max: ${needed - 1}`)).toThrow(/stream_store_mb_max/);
  expect(parse(`streams: { events_mb: 40960 }, stream_store_mb_max: ${needed}`)).not.toThrow();
});
