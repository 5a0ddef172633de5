// A replay of an account with a long history: however few of its rows match, no statement reads more of them than it may,
// and each ends by itself in time and memory. What is looked for is found behind them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FactPlace, ReplayEvents, ReplayEventsReply, ReplayFactsReply } from '../../analytics/contract.ts';
import { insertSettings } from '../../analytics/recorder/writer.ts';
import { replayEvents } from '../../analytics/queries/replay-events.ts';
import { replayFacts } from '../../analytics/queries/replay-facts.ts';
import { EventColumns } from '../../analytics/store/event-columns.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { firstMessageIdOf, type WebhookEndpointId } from '../../model/ids.ts';
import { NumberHashes } from '../../model/number-hash.ts';
import { unpackEvent } from '../../model/records/event-record.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { patienceMs } from '../support/until.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';
import { contextOf, lifeOf } from './support/events.ts';

const accountId = 'acc_1';
const livemode = true;
const dayMs = 86_400_000;
const endMs = Date.UTC(2026, 10, 1);
const sinceMs = endMs - 300 * dayMs;
const time = { accountId, livemode, sinceMs, untilMs: endMs };
const rows = 1.2 * limits.queries.replayRowsMax;
const moments = Array.from({ length: 600 }, (_, at) => sinceMs + at * (dayMs / 2));

const sentMs = sinceMs + 10 * dayMs;
const callback = { endpointId: 'whe_2' as WebhookEndpointId, url: 'https://example.com/hook' };
const life = lifeOf(contextOf({ accountId, acceptedAtMs: sentMs, callback }));
const { messageId, eventId } = life.at(-1) as DeliveryEvent;
const otpId = `otp_${'1'.repeat(42)}`;

let events: EventStore;
let read: number[] = [];
/** Never gives a search up. */
const still: Clock = { ...systemClock, monotonicMs: () => 0 };

beforeAll(async () => {
  events = await startEventStore();
  const at = (ms: number) => `fromUnixTimestamp64Milli(toInt64(${ms}))`;
  const own = `'${accountId}' AS account_id, ${livemode} AS livemode`;
  const ids = moments.map((ms) => `'${firstMessageIdOf(ms).slice(0, -1)}2'`).join(', ');
  // Refused messages, which webhooks are not sent, and one-time passwords that have not ended.
  const ofMessages = 'sms_events (account_id, livemode, message_id, kind, at, accepted_at, recorded_at, event_id)';
  await events.engine.command(
    `INSERT INTO ${ofMessages} SELECT ${own}, [${ids}][1 + number % ${moments.length}], 'refused',
       ${at(sinceMs)} + INTERVAL 12 * (number % ${moments.length}) HOUR AS at, at, at, ''
     FROM numbers(${rows})`,
    patienceMs,
  );
  const columns = new EventColumns();
  const sent = life.filter(({ kind }) => kind !== 'intent');
  const hash = new NumberHashes(new Uint8Array(32)).hashOf('+8801712345678');
  for (const [n, event] of sent.entries()) columns.add(event, { streamEpoch: 1, streamSeq: 1 }, n, sentMs, hash);
  const block = columns.block();
  const into = `sms_events (${block?.columns.join(', ') ?? ''})`;
  await events.engine.insertBlock(into, insertSettings('one'), block?.octets ?? Buffer.alloc(0));
  const ofOtps = 'otps (account_id, livemode, otp_id, status, message_ids, started_at, ended_at)';
  await events.engine.command(
    `INSERT INTO ${ofOtps} SELECT ${own}, toString(number), 'pending', [],
       ${at(sinceMs)} + INTERVAL 12 * (number % ${moments.length}) HOUR AS at, at
     FROM numbers(${rows})`,
    patienceMs,
  );
  await events.engine.command(
    `INSERT INTO ${ofOtps} SELECT ${own}, '${otpId}', 'verified', ['${messageId}'], ${at(sentMs)}, ${at(sentMs + 1_000)}`,
  );
}, patienceMs);
afterAll(() => events?.stop());

/** Counts the rows that each statement may read, and gives it the time that a busy machine needs. */
const counted = (): EventStore['engine'] => ({
  ...events.engine,
  async rows(sql, params) {
    expect(sql).toMatch(/max_execution_time = \d/);
    expect(sql).toMatch(/max_memory_usage = \d/);
    const patient = sql.replace(/max_execution_time = [\d.]+/, `max_execution_time = ${patienceMs / 1_000}`);
    // A read of the first row in the order of the key ends there.
    if (!sql.startsWith('EXPLAIN') && !/ORDER BY account_id, message_id LIMIT 1 SETTINGS/.test(sql)) {
      const tables = await events.engine.rows(`EXPLAIN ESTIMATE ${patient}`, params);
      read.push(tables.reduce((sum, table) => sum + Number(table[3]), 0));
    }
    return events.engine.rows(patient, params);
  },
});
function expectBounded(): void {
  expect(Math.max(...read)).toBeLessThanOrEqual(limits.queries.replayRowsMax);
  read = [];
}

const messagesIn = (packed: readonly string[]) =>
  packed.map((each) => unpackEvent(Buffer.from(each, 'base64'))).map((event) => event.messageId);

async function messages(query: ReplayEvents, clock = still) {
  const reply: ReplayEventsReply = await replayEvents(counted(), query, clock);
  if (reply.result !== 'found') throw new Error(reply.detail);
  return reply;
}
const aboutOtps = { ...time, kind: 'otp', types: ['otp.verified'] } as const;
const found = (reply: ReplayFactsReply) => {
  if (reply.result !== 'found') throw new Error(reply.detail);
  return reply;
};

test('the messages of a time', async () => {
  const ids: string[] = [];
  for (let afterMessageId: string | null = ''; afterMessageId !== null; ) {
    const page: Awaited<ReturnType<typeof messages>> = await messages({ ...time, afterMessageId });
    ids.push(...messagesIn(page.events));
    afterMessageId = page.nextMessageId;
    expectBounded();
  }
  expect(new Set(ids)).toEqual(new Set([messageId]));
});

test('one event of a message, which no index finds: at once, and in parts when the time of a query is over', async () => {
  const one = { ...time, eventId, beforeMs: null };
  const reply = await messages(one);
  expect([new Set(messagesIn(reply.events)), reply.openBeforeMs]).toEqual([new Set([messageId]), null]);
  expectBounded();

  let nowMs = 0;
  const hurried: Clock = { ...systemClock, monotonicMs: () => (nowMs += limits.queries.listSearchMs) };
  let parts = 0;
  let part = await messages(one, hurried);
  while (part.openBeforeMs !== null) {
    expect(part.events).toEqual([]);
    part = await messages({ ...one, beforeMs: part.openBeforeMs }, hurried);
    parts += 1;
  }
  expect(new Set(messagesIn(part.events))).toEqual(new Set([messageId]));
  expect(parts).toBeGreaterThan(0);
  expectBounded();

  const none = await messages({ ...one, eventId: 'evt_0000000000000000000000' });
  expect([none.events, none.openBeforeMs]).toEqual([[], null]);
});

test('only messages with the callback_url of an endpoint: all of the history at once', async () => {
  const hurried = (): Clock => {
    let nowMs = 0;
    return { ...systemClock, monotonicMs: () => (nowMs += limits.queries.listSearchMs) };
  };
  for (const [callbackOf, ids] of [
    ['whe_1', []],
    [callback.endpointId, [messageId]],
  ] as const) {
    const ofTime = await messages({ ...time, callbackOf, afterMessageId: '' });
    expect([new Set(messagesIn(ofTime.events)), ofTime.nextMessageId]).toEqual([new Set(ids), null]);
    const ofEvent = await messages({ ...time, callbackOf, eventId, beforeMs: null }, hurried());
    expect([new Set(messagesIn(ofEvent.events)), ofEvent.openBeforeMs]).toEqual([new Set(ids), null]);
    const unknown = { ...time, callbackOf, eventId: 'evt_0000000000000000000000', beforeMs: null };
    const none = await messages(unknown, hurried());
    expect([none.events, none.openBeforeMs]).toEqual([[], null]);
  }
  expectBounded();
});

test('one-time passwords of a time, and the event of one', async () => {
  const ids: string[] = [];
  let eventOfOtp = '';
  for (let after: FactPlace | null = null, isLast = false; !isLast; ) {
    const page: ReturnType<typeof found> = found(await replayFacts(counted(), { ...aboutOtps, after }, still));
    for (const fact of page.facts) {
      if (fact.kind === 'otp') ids.push(fact.id);
      eventOfOtp = fact.eventId;
    }
    after = page.next;
    isLast = after === null;
    expectBounded();
  }
  expect(ids).toEqual([otpId]);
  const one = found(await replayFacts(counted(), { ...aboutOtps, eventId: eventOfOtp, beforeMs: null }, still));
  expect(one.facts.map((fact) => fact.eventId)).toEqual([eventOfOtp]);
  expectBounded();
});
