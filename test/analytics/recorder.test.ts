// The parts of the recorder that decide: memory of ids, batches, rows, look-ups. ClickHouse is chDB in this process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Batch } from '../../analytics/recorder/batch.ts';
import { Batcher, type BatcherOptions } from '../../analytics/recorder/batcher.ts';
import { recordedBefore, refillSeenIds } from '../../analytics/recorder/recorded-before.ts';
import { MessageStates } from '../../analytics/recorder/counts/message-states.ts';
import { insertSettings } from '../../analytics/recorder/writer.ts';
import { SeenIds } from '../../analytics/recorder/seen-ids.ts';
import { type Engine, openEngine } from '../../analytics/store/engine.ts';
import { EventColumns } from '../../analytics/store/event-columns.ts';
import { eventColumns, eventOfRow } from '../../analytics/store/event-row.ts';
import { applySchema } from '../../analytics/store/schema.ts';
import { encodeEvents } from '../../model/records/event-record.ts';
import { type DeliveryEvent, acceptedEvent, expandEvent } from '../../model/delivery-event.ts';
import { foldEvents } from '../../model/fold.ts';
import { ErasedNumbers } from '../../analytics/erasure/erased-numbers.ts';
import { NumberHashes } from '../../model/number-hash.ts';
import { systemClock } from '../../platform/clock.ts';
import { contextOf, lifeOf } from './support/events.ts';
import { readBlock } from './support/native-block.ts';

const eventId = (n: number) => `evt_${Buffer.from(`identity ${n} of an event`).toString('base64url').slice(-22)}`;

describe('the memory of ids', () => {
  test('knows what was added and forgets by generations, reporting how far back it reaches', () => {
    const seen = new SeenIds(100, 64);
    const ids = Array.from({ length: 38 * 3 }, () => acceptedEvent(contextOf()).eventId);
    for (const id of ids.slice(0, 37)) expect(seen.add(id)).toBe(true);
    seen.turnWhenFull(1_000);
    expect(seen.add(ids[37]!)).toBe(true);
    seen.turnWhenFull(1_037);
    expect(seen.coversFromMs).toBe(100);
    for (const id of ids.slice(0, 38)) expect(seen.add(id)).toBe(false);
    for (const id of ids.slice(38, 76)) expect(seen.add(id)).toBe(true);
    // A batch is never split: what turns them is the next one.
    expect(seen.add(ids[0]!)).toBe(false);
    seen.turnWhenFull(2_000);
    expect(seen.coversFromMs).toBe(1_038);
    expect(seen.add(ids[40]!)).toBe(false);
    expect(seen.add(ids[0]!)).toBe(true);
  });

  test('never takes a new id for an old one', () => {
    const seen = new SeenIds(0);
    for (let n = 0; n < 20_000; n += 1) expect(seen.add(acceptedEvent(contextOf()).eventId)).toBe(true);
    expect(seen.add(eventId(1))).toBe(true);
  });
});

const testNumbers = new NumberHashes(Buffer.alloc(32, 1));

function batcherOf(closed: () => void = () => {}, more: Partial<BatcherOptions> = {}): Batcher {
  return new Batcher({
    streamEpoch: 1,
    seen: new SeenIds(0),
    states: new MessageStates(0),
    countedFromMs: 0,
    replay: null,
    closed,
    arrived: () => {},
    deadLetter: () => Promise.resolve(),
    numbers: testNumbers,
    erased: new ErasedNumbers(),
    clock: systemClock,
    ...more,
  });
}
const record = (seq: number, events: readonly DeliveryEvent[]) => ({
  seq,
  subject: 'ev.sandbox.0',
  data: encodeEvents(events),
  timestampNanos: BigInt(seq),
});

function idsOf(batch: Batch | null, ...dropped: readonly number[]): readonly unknown[] {
  const block = batch?.block(new Set(dropped)) ?? null;
  return block === null ? [] : (readBlock(block.octets).columns['event_id'] ?? []);
}

describe('batches', () => {
  test('close exactly at the limit of rows and make the reader wait at the limit of held rows', async () => {
    let closed = 0;
    const batcher = batcherOf(() => (closed += 1), { insertRowsMax: 6, heldRowsMax: 9 });
    expect(batcher.take(record(1, lifeOf(contextOf())))).toBeUndefined();
    expect(closed).toBe(0);
    expect(batcher.take(record(2, lifeOf(contextOf())))).toBeUndefined();
    expect(closed).toBe(1);
    const paused = batcher.take(record(3, lifeOf(contextOf())));
    expect(paused).toBeInstanceOf(Promise);
    expect(batcher.oldest()).toMatchObject({ firstSeq: 1, lastSeq: 2, rows: 6 });
    batcher.written();
    await paused;
    expect([...batcher.unflushed()]).toMatchObject([{ firstSeq: 3, rows: 3 }]);
  });

  test('of a range to repeat end exactly where it ended, also when its last record is gone', () => {
    for (const last of [3, 4]) {
      const batcher = new Batcher({
        streamEpoch: 1,
        seen: new SeenIds(0),
        states: new MessageStates(0),
        countedFromMs: 0,
        replay: { first: 2, last, lastAtNs: null, token: 't' },
        closed: () => {},
        arrived: () => {},
        deadLetter: () => Promise.resolve(),
        numbers: testNumbers,
        erased: new ErasedNumbers(),
        clock: systemClock,
        insertRowsMax: 1,
      });
      void batcher.take(record(2, lifeOf(contextOf())));
      batcher.tick();
      expect(batcher.oldest()).toBeNull();
      void batcher.take(record(3, lifeOf(contextOf())));
      void batcher.take(record(5, lifeOf(contextOf())));
      expect(batcher.oldest()).toMatchObject({ firstSeq: 2, lastSeq: 3 });
    }
  });

  test('that are held report since when, and nothing of a range to repeat: its rows may be stamped already', async () => {
    let nowMs = 5_000;
    const clock = { ...systemClock, nowMs: () => nowMs };
    const replay = { first: 1, last: 2, lastAtNs: null, token: 'token' };
    const batcher = batcherOf(() => {}, { replay, clock, insertRowsMax: 3 });
    expect(batcher.heldSinceMs).toBe(0);
    await batcher.take(record(1, lifeOf(contextOf())));
    await batcher.take(record(2, lifeOf(contextOf())));
    nowMs = 7_000;
    await batcher.take(record(3, lifeOf(contextOf())));
    expect(batcher.heldSinceMs).toBe(0);
    batcher.written();
    nowMs = 9_000;
    await batcher.take(record(4, lifeOf(contextOf())));
    expect(batcher.heldSinceMs).toBe(7_000);
    batcher.written();
    batcher.written();
    expect(batcher.heldSinceMs).toBeNull();
  });

  test('hold the same rows and fold to the same state for every order and repetition of publishes', () => {
    const context = contextOf();
    const life = lifeOf(context);
    const expected = new Set(life.flatMap(expandEvent).map((event) => event.eventId));
    const publishing = fc.array(fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 4 }), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(publishing, (published) => {
        const batcher = batcherOf();
        const records = [...published, [3, 2, 1, 0]].map((places) =>
          places.map((place) => life[place] as DeliveryEvent),
        );
        for (const [at, events] of records.entries()) void batcher.take(record(at + 1, events));
        batcher.finish();
        const batch = batcher.oldest();
        expect(batch?.rows).toBe(expected.size);
        expect(new Set(idsOf(batch))).toEqual(expected);
        expect(foldEvents(batch?.eventsOf(context.messageId) ?? [])?.status).toBe('delivered');
      }),
    );
  });

  test('leave out dropped rows and nothing else', () => {
    const batcher = batcherOf();
    void batcher.take(record(1, lifeOf(contextOf({ sender: 'বাংলা' }))));
    batcher.finish();
    const batch = batcher.oldest();
    const ids = idsOf(batch);
    expect(ids).toHaveLength(3);
    expect(idsOf(batch, 1)).toEqual([ids[0], ids[2]]);
    expect(batch?.block(new Set([0, 1, 2]))).toBeNull();
  });
});

describe('in ClickHouse', () => {
  const dir = mkdtempSync(join(tmpdir(), 'heliograph-store-'));
  let engine: Engine;
  beforeAll(async () => {
    engine = openEngine({ clickhouseUrl: null, dataDir: dir });
    await applySchema(engine);
  });
  afterAll(async () => {
    await engine.close();
    rmSync(dir, { recursive: true, force: true });
  });

  async function insert(events: readonly DeliveryEvent[], streamSeq: number, recordedAtMs: number): Promise<void> {
    const rows = new EventColumns();
    for (const [at, event] of events.entries())
      rows.add(event, { streamEpoch: 7, streamSeq }, at, recordedAtMs, testNumbers.hashOf(event.recipient));
    const { columns, octets } = rows.block()!;
    await engine.insertBlock(`sms_events (${columns.join(', ')})`, insertSettings(`${streamSeq}`), octets);
  }

  test('a row gives back the event it was made of, whatever its texts hold', async () => {
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).filter((each) => each.isWellFormed());
    const samples = fc.sample(fc.tuple(text, text, text, fc.integer({ min: 0, max: 999 })), { numRuns: 200, seed: 3 });
    const events = samples.map(([sender, clientReference, error, ms]) => {
      const at = 1_790_000_000_000 + ms;
      return {
        ...acceptedEvent(contextOf({ sender, clientReference, acceptedAtMs: at, validUntilMs: at + 1 })),
        error,
      };
    });
    await insert(events, 1, 1_790_000_000_000);
    const rows = await engine.rows(`SELECT ${eventColumns} FROM sms_events WHERE stream_seq = 1 ORDER BY batch_index`);
    expect(rows.map(eventOfRow)).toEqual(events);
  });

  test('an event published again long after memory forgot it is found by a look-up', async () => {
    const nowMs = systemClock.nowMs();
    const life = lifeOf(contextOf({ acceptedAtMs: nowMs - 2 * 3_600_000 }));
    await insert(life, 50, nowMs - 2 * 3_600_000);
    const frontier = { streamEpoch: 7, streamSeq: 60 };
    const seen = await refillSeenIds(engine, frontier, nowMs);
    expect(seen.coversFromMs).toBeGreaterThan(nowMs - 3_600_000);
    expect(seen.add(life[0]!.eventId)).toBe(true);
    const suspects = [...life, acceptedEvent(contextOf({ acceptedAtMs: nowMs - 3_600_000 }))];
    const recorded = await recordedBefore(engine, suspects, frontier);
    expect([...recorded]).toMatchObject([
      [life[0]!.messageId, life.map(({ eventId, kind, atMs }) => ({ eventId, kind, atMs }))],
    ]);
    // Rows of the range that is being repeated do not count: its token distinguishes them.
    expect(await recordedBefore(engine, suspects, { streamEpoch: 7, streamSeq: 50 })).toEqual(new Map());
  });

  test('memory that could not be filled to its end reports that it reaches less far', async () => {
    const nowMs = systemClock.nowMs();
    const lives = Array.from({ length: 5 }, () => lifeOf(contextOf()));
    for (const [n, life] of lives.entries()) await insert(life, 70 + n, nowMs - 10_000 + n * 1_000);
    const frontier = { streamEpoch: 7, streamSeq: 100 };
    const seen = await refillSeenIds(engine, frontier, nowMs, 10);
    expect(seen.coversFromMs).toBe(nowMs - 10_000 + 2 * 1_000 + 1);
    expect(lives.flat().filter(({ eventId: id }) => !seen.add(id))).toHaveLength(10);
  });
});
