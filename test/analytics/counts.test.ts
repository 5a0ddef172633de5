// The counts of reports: they change as the fold of a message does, in whatever order and batches events come, and however
// often the recorder is interrupted. The store is chDB in this process.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CountChanges } from '../../analytics/recorder/counts/count-changes.ts';
import { applyEvent, countedStatuses, emptyCounted, noTime } from '../../analytics/recorder/counts/counted-state.ts';
import { MessageStates } from '../../analytics/recorder/counts/message-states.ts';
import { Names } from '../../analytics/store/names.ts';
import { latency } from '../../analytics/reports/messages.ts';
import { statementOf } from '../../analytics/reports/statement.ts';
import { type Recorder, startRecorder } from '../../analytics/recorder/recorder.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { type DeliveryEvent, acceptedEvent, deliveryEvent, eventKinds } from '../../model/delivery-event.ts';
import { foldEvents } from '../../model/fold.ts';
import { isTerminal } from '../../model/status.ts';
import { expectExactCounts } from '../support/recount.ts';
import { patienceMs, until } from '../support/until.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';
import { contextOf, lifeOf } from './support/events.ts';
import { readBlock } from './support/native-block.ts';

const ofMessages = eventKinds.filter((kind) => !['refused', 'received', 'opted_out', 'opted_in'].includes(kind));
const drafts = fc.array(
  fc.record({
    kind: fc.constantFrom(...ofMessages),
    segment: fc.integer({ min: 0, max: 3 }),
    attempt: fc.integer({ min: 0, max: 2 }),
    atMs: fc.integer({ min: -5, max: 100_000 }),
    carrier: fc.constantFrom('alpha', 'beta', ''),
    error: fc.option(fc.constantFrom('absent', 'no_receipt')),
  }),
  { maxLength: 14 },
);

const acceptedAtMs = 1_790_000_000_000;
type Drafts = typeof drafts extends fc.Arbitrary<infer List> ? List : never;

function eventsOf(list: Drafts, sender = 'S'): readonly DeliveryEvent[] {
  const context = contextOf({ segments: 3, acceptedAtMs, sender });
  const events = list.map(({ atMs, carrier, ...draft }) =>
    deliveryEvent({ ...context, carrier }, { ...draft, atMs: acceptedAtMs + atMs }),
  );
  return [...new Map(events.map((event) => [event.eventId, event])).values()];
}

test('the counted state of any events is their fold', () => {
  fc.assert(
    fc.property(drafts, (list) => {
      const events = eventsOf(list);
      const folded = foldEvents(events);
      const names = new Names();
      const state = emptyCounted();
      for (const event of events) applyEvent(state, event, names);
      if (folded === null) return;
      expect({
        status: countedStatuses[state.status],
        carrier: names.textOf(state.carrier),
        error: names.textOf(state.error),
        resent: state.resent,
        submittedBits: state.submittedBits,
        deliveredBits: state.deliveredBits,
        submittedMs: state.submittedMs === noTime ? null : state.submittedMs,
        deliveredMs: state.deliveredMs === noTime ? null : state.deliveredMs,
      }).toEqual({
        status: folded.status,
        carrier: folded.carrier ?? '',
        error: isTerminal(folded.status) ? (folded.error ?? '') : '',
        resent: folded.resent,
        submittedBits: folded.submittedBits,
        deliveredBits: folded.deliveredBits,
        submittedMs: folded.submittedAtMs === null ? null : Math.max(0, folded.submittedAtMs - folded.acceptedAtMs),
        deliveredMs: folded.deliveredAtMs === null ? null : Math.max(0, folded.deliveredAtMs - folded.acceptedAtMs),
      });
    }),
  );
});

test('changes of any events of many messages, split into batches anywhere, add up to the messages’ states', () => {
  const messages = fc.array(drafts, { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(
      messages,
      fc.array(fc.nat(), { maxLength: 30 }),
      fc.integer({ min: 1, max: 7 }),
      (lists, order, every) => {
        const waiting = lists.map((list, at) => [...eventsOf(list, `S${at}`)]);
        const states = new MessageStates(0, 64);
        const sums = new Map<string, number>();
        let changes = new CountChanges(states.names);
        const close = () => {
          const { messages: rows } = changes.rows();
          const block = rows === null ? { rows: 0, columns: {} } : readBlock(rows.octets);
          for (let row = 0; row < block.rows; row += 1) {
            const cell = (column: string) => block.columns[column]?.[row] ?? '';
            const key = ['sender', 'carrier', 'status', 'error'].map(cell).join('\t');
            sums.set(key, (sums.get(key) ?? 0) + Number(cell('messages')));
          }
          changes = new CountChanges(states.names);
        };
        let taken = 0;
        const take = (which: number) => {
          const event = waiting[which % waiting.length]?.shift();
          if (event === undefined) return;
          states.apply(event, changes);
          taken += 1;
          if (taken % every === 0) close();
        };
        for (const which of order) take(which);
        for (let which = 0; which < waiting.length; which += 1) while (waiting[which]!.length > 0) take(which);
        close();
        const expected = new Map<string, number>();
        lists.forEach((list, at) => {
          const folded = foldEvents(eventsOf(list));
          if (folded === null) return;
          const error = isTerminal(folded.status) ? (folded.error ?? '') : '';
          const key = `S${at}\t${folded.carrier ?? ''}\t${folded.status}\t${error}`;
          expected.set(key, 1);
        });
        expect(new Map([...sums].filter(([, count]) => count !== 0))).toEqual(expected);
      },
    ),
  );
});

test('states are forgotten by generations between batches, and how far back they reach is reported', () => {
  const states = new MessageStates(100, 64);
  const changes = new CountChanges(states.names);
  const of = Array.from({ length: 38 * 2 }, () => acceptedEvent(contextOf()));
  for (const event of of.slice(0, 38)) states.apply(event, changes);
  states.turnWhenFull(1_000);
  expect(states.coversFromMs).toBe(100);
  for (const event of of.slice(38)) states.apply(event, changes);
  states.turnWhenFull(2_000);
  expect(states.coversFromMs).toBe(1_001);
});

describe('recorded', () => {
  let events: EventStore;
  let publisher: Publisher;
  let recorder: Recorder;
  beforeEach(async () => {
    events = await startEventStore();
    publisher = new Publisher(events.bus);
    recorder = await startRecorder({ bus: events.bus, engine: events.engine, publisher });
  });
  afterEach(async () => {
    await recorder.stop(5_000);
    publisher.close();
    await events.stop();
  });

  async function counted(): Promise<Readonly<Record<string, number>>> {
    const { state } = await events.bus.manager.streams.info('EVENTS');
    await until('all recorded', () => recorder.recordedTo >= state.last_seq);
    return expectExactCounts((sql) => events.engine.rows(sql, {}, patienceMs));
  }

  async function restart(): Promise<void> {
    await recorder.stop(5_000);
    recorder = await startRecorder({ bus: events.bus, engine: events.engine, publisher });
  }

  test('a late receipt takes back the unknown, in memory and after a restart', async () => {
    const held = contextOf({ sender: 'LATE' });
    const [accepted, , submitted, delivered] = lifeOf(held);
    const unknown = deliveryEvent(held, { kind: 'unknown', atMs: held.acceptedAtMs + 9, error: 'no_receipt' });
    await events.publish([accepted!, submitted!, unknown]);
    expect(await counted()).toEqual({ unknown: 1 });
    await events.publish([delivered!]);
    expect(await counted()).toEqual({ delivered: 1 });

    // Of the same half hour, whenever this runs.
    const other = contextOf({ sender: 'LATE', acceptedAtMs: held.acceptedAtMs });
    const [first, , second, third] = lifeOf(other);
    const never = deliveryEvent(other, { kind: 'unknown', atMs: other.acceptedAtMs + 9, error: 'no_receipt' });
    await events.publish([first!, second!]);
    expect(await counted()).toEqual({ delivered: 1, submitted: 1 });
    await restart();
    await events.publish([never]);
    expect(await counted()).toEqual({ delivered: 1, unknown: 1 });
    await restart();
    // Published again, and what was published before with it.
    await events.publish([third!, never, second!]);
    expect(await counted()).toEqual({ delivered: 2 });
    // What was taken back is gone when the parts are merged.
    for (const table of ['message_counts', 'message_tiers'])
      await events.engine.command(`OPTIMIZE TABLE ${table} FINAL`);
    expect(await counted()).toEqual({ delivered: 2 });
    expect(await events.engine.rows('SELECT toUInt32(count()) FROM message_counts')).toEqual([[1]]);
  });

  test('a request that a gate refused is counted as that, under its code', async () => {
    const refused = deliveryEvent(contextOf({ segments: 0, carrier: '' }), {
      kind: 'refused',
      atMs: contextOf().acceptedAtMs,
      error: 'no_route',
    });
    await events.publish([refused, ...lifeOf(contextOf())]);
    expect(await counted()).toEqual({ refused: 1, delivered: 1 });
    expect(
      await events.engine.rows(
        "SELECT error, toUInt32(sum(messages)) FROM message_counts WHERE status = 'refused' GROUP BY error",
      ),
    ).toEqual([['no_route', 1]]);
  });

  test('a time that is taken back counts no more in a percentile', async () => {
    const sent = contextOf();
    const [accepted, , submitted] = lifeOf(sent);
    const at = sent.acceptedAtMs;
    await events.publish([accepted!, { ...submitted!, atMs: at + 60_000 }]);
    await counted();
    // Another submit of it, which was earlier by the clock of its node.
    await events.publish([
      deliveryEvent(sent, { kind: 'submitted', atMs: at + 100, attempt: 2, segment: 1, carrierMessageId: 'c2' }),
    ]);
    await counted();
    const fromMs = Math.floor(at / 1_800_000) * 1_800_000;
    const { sql, params } = statementOf(latency, {
      ...{ report: 'latency', accountId: sent.accountId, livemode: true, fromMs, toMs: fromMs + 1_800_000 },
      ...{ timeZone: 'UTC', groupBy: [], filters: {}, format: 'json' },
    });
    const json = await events.engine.octets(sql, 'JSONEachRow', params, 20_000, 'system');
    expect(JSON.parse(json.toString())).toEqual([
      { stage: 'accepted_to_submitted', messages: 1, p50_ms: 101, p90_ms: 101, p95_ms: 101, p99_ms: 101 },
    ]);
  });

  test('messages of before the store had counts change none', async () => {
    const nowMs = contextOf().acceptedAtMs;
    await events.engine.command(`INSERT INTO counted_from SELECT fromUnixTimestamp64Milli(${nowMs - 60_000})`);
    await restart();
    const old = lifeOf(contextOf({ acceptedAtMs: nowMs - 120_000 }));
    await events.publish([...old, ...lifeOf(contextOf())]);
    const { state } = await events.bus.manager.streams.info('EVENTS');
    await until('all recorded', () => recorder.recordedTo >= state.last_seq);
    expect(
      await events.engine.rows(
        'SELECT status, toUInt32(sum(messages)) FROM message_counts GROUP BY status HAVING sum(messages) != 0',
      ),
    ).toEqual([['delivered', 1]]);
  });
});
