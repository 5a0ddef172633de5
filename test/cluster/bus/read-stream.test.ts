// Reading a stream in order on a real server: each record once, with a slow handler, a lost consumer and a restarted
// server; what a reader does when its stream was replaced; and reading the present content once.
import type { JsMsg } from '@nats-io/jetstream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensureStreams } from '../../../cluster/bus/ensure.ts';
import { readPresent } from '../../../cluster/bus/read-present.ts';
import { type StreamReader, readStream } from '../../../cluster/bus/read-stream.ts';
import { StreamChanged } from '../../../cluster/bus/stream-position.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { type TestBus, startBus } from '../../support/bus.ts';

const stream = 'EVENTS';
const beginning = { made: '', seq: 0, storedAtNs: null };
let server: TestBus;
let reader: StreamReader | null = null;
let taken: string[];

beforeEach(async () => {
  server = await startBus();
  taken = [];
});
afterEach(async () => {
  reader?.stop();
  await server.stop();
});

const publish = async (carrier: string, ...texts: string[]) => {
  for (const text of texts) await server.bus.jetstream.publish(`ev.${carrier}.0`, text);
};
const note = (record: JsMsg): undefined => void taken.push(record.string());
const consumers = async () => (await server.bus.manager.streams.info(stream)).state.consumer_count;

test('caught up means that all that was there is handled; then it continues, and leaves no consumer behind', async () => {
  await publish('alpha', '1', '2');
  await publish('beta', 'other');
  reader = readStream(server.bus, { stream, filter: 'ev.alpha.*', from: beginning, take: note, prefetch: 10 });
  await reader.caughtUp;
  expect(taken).toEqual(['1', '2']);
  await publish('alpha', '3');
  await until('the next one', () => taken.length === 3);
  expect(reader.position.seq).toBe(4);
  expect(await reader.waiting(2_000)).toBe(0);
  expect(await consumers()).toBe(1);
  reader.stop();
  await reader.done;
  await until('the consumer is gone', async () => (await consumers()) === 0);
});

test('an empty stream is caught up with, and a reader that is stopped first gives the reason', async () => {
  reader = readStream(server.bus, { stream, from: beginning, take: note, prefetch: 10 });
  await reader.caughtUp;
  await until('it has pulled', async () => {
    const [consumer] = await server.bus.manager.consumers.list(stream).next();
    return consumer?.num_waiting === 1;
  });
  expect(await reader.waiting(2_000)).toBe(0);
  const stopped = readStream(server.bus, { stream, from: beginning, take: note, prefetch: 10 });
  stopped.stop(new Error('the carrier stops'));
  await expect(stopped.caughtUp).rejects.toThrow('the carrier stops');
  await stopped.done;
});

test('a handler that holds a record for long holds the reader, and nothing is lost or handled twice', async () => {
  const held = Promise.withResolvers<void>();
  const take = (record: JsMsg) => {
    note(record);
    return record.string() === '2' ? held.promise : undefined;
  };
  await publish('alpha', '1', '2', '3');
  reader = readStream(server.bus, { stream, from: beginning, take, prefetch: 10 });
  await until('the second is held', () => taken.length === 2);
  await publish('alpha', '4');
  expect(await server.bus.manager.consumers.list(stream).next()).toHaveLength(1);
  await expect(until('a third', () => taken.length > 2, { limitMs: 2_300 })).rejects.toThrow();
  held.resolve();
  await until('the others', () => taken.length === 4);
  expect(taken).toEqual(['1', '2', '3', '4']);
});

test.each([
  { tookMs: 5, turns: 'a turn each, so that other work of the thread waits for one of them at most' },
  { tookMs: 0, turns: 'one turn' },
])('records that came together and take $tookMs ms each have $turns', async ({ tookMs }) => {
  let nowMs = 0;
  let turn = 0;
  const turns: number[] = [];
  const countTurns = () => {
    turn += 1;
    counting = setImmediate(countTurns);
  };
  let counting = setImmediate(countTurns);
  const isAllHere = async () => {
    await until('all are on their way', async () => {
      const [consumer] = await server.bus.manager.consumers.list(stream).next();
      return consumer?.num_pending === 0;
    });
    // What the server sent before its answer has arrived with it.
    await server.bus.connection.flush();
  };
  const take = (record: JsMsg): Promise<void> | undefined => {
    if (record.seq === 1) return isAllHere();
    turns.push(turn);
    nowMs += tookMs;
    return undefined;
  };
  const texts = Array.from({ length: 100 }, (_, n) => String(n));
  await publish('alpha', ...texts);
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  reader = readStream(server.bus, { stream, from: beginning, take, prefetch: 100, clock });
  await reader.caughtUp;
  clearImmediate(counting);
  expect(turns).toHaveLength(99);
  expect(new Set(turns).size).toBe(tookMs === 0 ? 1 : 99);
});

test('a record that cannot be handled ends the reader with that error', async () => {
  const take = (record: JsMsg): undefined => {
    throw new Error(`bug at ${record.string()}`);
  };
  await publish('alpha', '1');
  reader = readStream(server.bus, { stream, from: beginning, take, prefetch: 10 });
  await expect(reader.done).rejects.toThrow('bug at 1');
  await expect(reader.caughtUp).rejects.toThrow('bug at 1');
});

test('it continues after the last record when its consumer is deleted, when it is reopened, and after a restart of the server', async () => {
  await publish('alpha', '1');
  reader = readStream(server.bus, { stream, from: beginning, take: note, prefetch: 10 });
  await reader.caughtUp;
  for await (const { name } of server.bus.manager.consumers.list(stream)) {
    await server.bus.manager.consumers.delete(stream, name);
  }
  await publish('alpha', '2');
  await until('after the deletion', () => taken.length === 2);
  reader.reopen();
  await publish('alpha', '3');
  await until('after reopening', () => taken.length === 3);
  await server.nats.restart();
  await until('the connection is back', () => server.bus.connected());
  await until('published', () =>
    publish('alpha', '4').then(
      () => true,
      () => false,
    ),
  );
  await until('after the restart', () => taken.includes('4'));
  expect([...new Set(taken)]).toEqual(['1', '2', '3', '4']);
});

test('a stream that was recreated ends the reader, or is read from its beginning where that is configured', async () => {
  await publish('alpha', '1', '2', '3');
  const changes: string[] = [];
  const onChanged = (change: string) => void changes.push(change);
  reader = readStream(server.bus, { stream, from: beginning, take: note, onChanged, prefetch: 10 });
  const strict = readStream(server.bus, { stream, from: beginning, take: () => undefined, prefetch: 10 });
  const ended = expect(strict.done).rejects.toBeInstanceOf(StreamChanged);
  await Promise.all([reader.caughtUp, strict.caughtUp]);
  await server.bus.manager.streams.delete(stream);
  await ensureStreams(server.bus);
  await publish('alpha', '4');
  await until('the new one', () => taken.length === 4);
  expect(taken).toEqual(['1', '2', '3', '4']);
  expect(changes).toEqual([expect.stringContaining('recreated')]);
  await ended;
});

test('the present content: all of it, the last of each subject, or not more than asked for', async () => {
  await publish('alpha', '1', '2');
  await publish('beta', '3');
  const read = async (reading: { filter?: string; lastPerSubject?: boolean; recordsMax?: number }) => {
    taken = [];
    const counts = await readPresent(server.bus, stream, { recordsMax: 10, withinMs: 2_000, ...reading }, note);
    return [counts.present, counts.taken, ...taken];
  };
  expect(await read({})).toEqual([3, 3, '1', '2', '3']);
  expect(await read({ filter: 'ev.alpha.*' })).toEqual([2, 2, '1', '2']);
  expect(await read({ filter: 'ev.*.*', lastPerSubject: true })).toEqual([2, 2, '2', '3']);
  expect(await read({ recordsMax: 2 })).toEqual([3, 2, '1', '2']);
  expect(await read({ filter: 'ev.none.*' })).toEqual([0, 0]);
  await until('no consumer is left', async () => (await consumers()) === 0);
});

test('what the leader of a stream has and the replica being read lacks is waited for', async () => {
  await publish('alpha', '1', '2');
  const late = readPresent(server.bus, stream, { present: 3, recordsMax: 3, withinMs: 5_000 }, note);
  await until('what is there', () => taken.length === 2);
  await publish('alpha', '3');
  expect(await late).toEqual({ present: 3, taken: 3 });
  const none = await readPresent(server.bus, stream, { present: 4, recordsMax: 4, withinMs: 1_000 }, note);
  expect(none).toEqual({ present: 4, taken: 3 });
});
