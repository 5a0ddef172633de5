// One-time passwords from their records to the reports, through the real role: recorder kills, lost answers, an outage and a
// second publishing of everything; then each report is computed again from what the test itself did.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { OtpEvents } from '../../actors/otp-events/otp-events.ts';
import { bucketGrowth, latencyBucket } from '../../analytics/latency-buckets.ts';
import { otp as otpReport, otpDecisions, otpTrust } from '../../analytics/reports/otp.ts';
import type { Dimension, Report, ReportQuery } from '../../analytics/reports/report.ts';
import { type Engine, openEngine } from '../../analytics/store/engine.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { readStream } from '../../cluster/bus/read-stream.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import { factSubjects } from '../../cluster/bus/subjects.ts';
import { type DeliveryEvent } from '../../model/delivery-event.ts';
import type { GuardFact } from '../../model/fact.ts';
import { type AccountId, type MessageId, eventIdOf, newAccountId } from '../../model/ids.ts';
import { encodeFact } from '../../model/records/fact-record.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { seededRandom } from '../../platform/random.ts';
import { type OtpNumbers, openOtpNumbers, otpNumber } from '../support/otp-numbers.ts';
import { reportRows } from '../support/report-rows.ts';
import { until } from '../support/until.ts';
import { type TestClickHouse, startClickHouse } from './support/clickhouse-server.ts';
import { type EventBus, startEventBus } from './support/event-bus.ts';
import { contextOf, lifeOf } from './support/events.ts';
import { type RunningRole, startRole } from './support/role.ts';

let events: EventBus;
let clickhouse: TestClickHouse;
let engine: Engine;
let role: RunningRole | null = null;
let publishing: OtpEvents | null = null;
let numbers: OtpNumbers;
let accountId: AccountId;

const hourMs = 3_600_000;
/** The beginning of an hour some hours ago. */
const fromMs = Math.floor(systemClock.nowMs() / hourMs) * hourMs - 4 * hourMs;
const toMs = fromMs + 5 * hourMs;

beforeEach(async () => {
  made.length = messagesSent = 0;
  [events, clickhouse] = await Promise.all([startEventBus(), startClickHouse()]);
  engine = openEngine({ clickhouseUrl: clickhouse.url, dataDir: events.dataDir });
  accountId = newAccountId(fromMs);
  numbers = openOtpNumbers(events.bus, accountId);
});
afterEach(async () => {
  numbers.close();
  await publishing?.stop();
  publishing = null;
  await role?.end('SIGKILL');
  role = null;
  await engine.close();
  await events.stop();
  await clickhouse.stop();
});

const record = async () => {
  role = await startRole(events.nats.url, events.dataDir, { CLICKHOUSE_URL: clickhouse.url });
};
const publish = async () => {
  const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + limits.facts.graceMs };
  publishing = await OtpEvents.start({ bus: events.bus, bucket: await openBucket(events.bus, 'otp_events'), clock });
};

const rowsOf = (report: Report, groupBy: readonly Dimension[], more: Partial<ReportQuery> = {}) =>
  reportRows(engine, report, { accountId, fromMs, toMs, groupBy, ...more });

/** All facts are acked by the recorder, and all events are recorded. */
async function settled(): Promise<void> {
  await until('every fact is recorded', async () => {
    const { num_pending, num_ack_pending } = await events.bus.manager.consumers.info('FACTS', 'facts_recorder');
    return num_pending + num_ack_pending === 0;
  });
  await events.taken();
  await until('every event is recorded', async () => {
    const [row] = await clickhouse.rows("SELECT toUInt32(countIf(kind = 'accepted')) FROM sms_events");
    return Number(row?.[0]) >= messagesSent;
  });
}

type Made = {
  hour: string;
  carrier: string;
  language: string;
  end: string;
  sends: number;
  submitted: boolean;
  delivered: boolean;
  tookMs: number;
};
const made: Made[] = [];
let messagesSent = 0;
const random = seededRandom(7);
const pick = <T>(list: readonly T[]): T => list[Math.floor(random.unit() * list.length)] as T;

/** One of a random fate, at a random time, with what a carrier says of its messages. */
async function oneMore(nth: number): Promise<void> {
  const startMs = fromMs + Math.floor(random.unit() * 3 * hourMs);
  const [language, carrier] = [pick(['en', 'bn']), pick(['alpha', 'beta'])];
  const fate = pick([
    'verified',
    'verified',
    'expired',
    'delivery_failed',
    'canceled',
    'max_attempts_reached',
    'not_sent',
  ]);
  const times = { createdAtMs: startMs, expiresAtMs: startMs + 300_000, language };
  const otp = await numbers.start(otpNumber(nth), times);
  const messageIds: MessageId[] = otp.sends.map(({ messageId }) => messageId);
  if (fate !== 'not_sent' && random.unit() < 0.3) messageIds.push(await numbers.resend(otp.id, startMs + 20_000));
  const tookMs = 1_000 + Math.floor(random.unit() * 60_000);
  const isLost = random.unit() < 0.2;
  let delivered = false;
  let lastCarrier = carrier;
  const life: DeliveryEvent[] = [];
  for (const messageId of fate === 'not_sent' ? [] : messageIds) {
    const context = contextOf({
      messageId,
      accountId,
      category: 'otp',
      carrier,
      sender: 'HELIO',
      acceptedAtMs: startMs,
    });
    lastCarrier = carrier;
    const isDelivered = fate === 'verified' || (fate === 'expired' && random.unit() < 0.7);
    delivered ||= isDelivered && !isLost;
    life.push(...lifeOf(context).slice(0, isDelivered && !isLost ? 4 : 3));
    if (fate === 'delivery_failed')
      life.push({ ...(lifeOf(context)[3] as DeliveryEvent), kind: 'undelivered', error: 'receipt_undelivered' });
    // Of two copies nobody knows whether the second arrives: the message has not failed.
    if (fate === 'expired' && !isDelivered) {
      const undelivered = { kind: 'undelivered', error: 'receipt_undelivered' } as const;
      life.push({ ...(lifeOf(context)[3] as DeliveryEvent), ...undelivered });
      lastCarrier = carrier === 'alpha' ? 'beta' : 'alpha';
      life.push(...lifeOf({ ...context, hop: 1, carrier: lastCarrier }).slice(2, 3));
    }
    messagesSent += 1;
  }
  if (life.length > 0) await events.publish(life);
  if (fate === 'verified') await numbers.verify(otp.id, startMs + tookMs);
  if (fate === 'canceled') await numbers.cancel(otp.id, startMs + tookMs);
  if (fate === 'not_sent') return void (await numbers.withdraw(otp, startMs + 5));
  if (fate === 'max_attempts_reached') {
    for (let at = 0; at < 5; at += 1) await numbers.guessWrong(otp.id, startMs + tookMs + at);
  }
  const hour = new Date(Math.floor(startMs / hourMs) * hourMs).toISOString().replace('.000Z', '+00:00');
  const end = { hour, carrier: lastCarrier, language, end: fate, sends: messageIds.length, submitted: true };
  made.push({ ...end, delivered, tookMs: fate === 'verified' ? tookMs : 0 });
}

/** Of the bucket of this time. */
const middleOf = (ms: number) => Math.round(bucketGrowth ** (latencyBucket(ms) - 0.5));

/** The report, as the test knows it. */
function expected(keys: readonly ('hour' | 'carrier' | 'language')[]) {
  const groups = Map.groupBy(made, (one) => keys.map((key) => one[key]).join('\n'));
  return [...groups]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, list]) => {
      const count = (of: (one: Made) => boolean) => list.filter(of).length;
      const ended = (end: string) => count((one) => one.end === end);
      const times = list
        .filter(({ tookMs }) => tookMs > 0)
        .map(({ tookMs }) => tookMs)
        .sort((a, b) => a - b);
      const share = (part: number, whole: number) =>
        whole === 0 ? null : Math.round((part / whole) * 10_000) / 10_000;
      return {
        ...Object.fromEntries(keys.map((key) => [key, list[0]?.[key]])),
        started: list.length,
        messages: list.reduce((sum, { sends }) => sum + sends, 0),
        submitted: count(({ submitted }) => submitted),
        delivered: count(({ delivered }) => delivered),
        ...Object.fromEntries(
          ['verified', 'expired', 'delivery_failed', 'max_attempts_reached', 'canceled'].map((end) => [
            end,
            ended(end),
          ]),
        ),
        ...{ pending: 0, locked: 0, blocked: 0, challenged: 0 },
        delivered_share: share(
          count(({ delivered }) => delivered),
          list.length,
        ),
        conversion: share(ended('verified'), list.length),
        verified_p50_ms: times.length === 0 ? null : middleOf(times[Math.ceil(times.length * 0.5) - 1] ?? 0),
      };
    });
}

test('the funnel is exact whatever is killed, lost, repeated or away', async () => {
  const published: Uint8Array[] = [];
  const take = ({ data }: { data: Uint8Array }) => void published.push(data);
  const from = { made: '', seq: 0, storedAtNs: null };
  const received = readStream(events.bus, { stream: streamNames.facts, from, take, prefetch: 100 });
  await record();
  await publish();
  let nth = 0;
  const more = async (count: number) => {
    for (let at = 0; at < count; at += 1) await oneMore((nth += 1));
  };
  await more(25);
  clickhouse.weather = 'answer-lost';
  await more(10);
  await until('an answer is lost', () => clickhouse.lost > 0);
  await role?.end('SIGKILL');
  await publishing?.stop();
  await more(15);
  await publish();
  clickhouse.weather = 'fine';
  await record();
  await more(15);
  clickhouse.weather = 'down';
  await more(10);
  await until('requests are refused', () => clickhouse.refused > 0);
  clickhouse.weather = 'fine';
  await role?.end('SIGKILL');
  await record();
  await until(
    'every end is published',
    async () => {
      const [row] = await engine
        .rows("SELECT toUInt32(count()) FROM otps FINAL WHERE status != 'pending'", {}, 5_000)
        .catch(() => [[0]]);
      return Number(row?.[0]) === nth;
    },
    { limitMs: 60_000 },
  );
  await settled();
  for (const keys of [[], ['hour'], ['carrier', 'language'], ['hour', 'carrier']] as const) {
    const found = await rowsOf(otpReport, keys);
    expect(
      found.map((row) => ({ ...row })),
      keys.join(),
    ).toMatchObject(expected(keys));
  }
  const onlyBangla = await rowsOf(otpReport, ['language'], { filters: { language: 'bn', carrier: 'beta' } });
  expect(onlyBangla[0]?.['started']).toBe(made.filter((one) => one.language === 'bn' && one.carrier === 'beta').length);
  expect(await rowsOf(otpReport, ['hour'], { livemode: false })).toEqual([]);
  // Everything is published once more, in another order, and recorded once more.
  const before = await rowsOf(otpReport, ['hour', 'carrier']);
  received.stop();
  for (const data of published.toReversed()) await events.bus.jetstream.publish(factSubjects.otp, data);
  await settled();
  expect(await rowsOf(otpReport, ['hour', 'carrier'])).toEqual(before);
}, 180_000);

let decision = 0;
const refusalOf = (more: Partial<GuardFact>): GuardFact => {
  decision += 1;
  const identity = { messageId: `d${decision}`, kind: 'x', attempt: 0, carrier: '', segment: 0, detail: '' };
  return {
    ...{ kind: 'guard', what: 'refusal', eventId: eventIdOf(identity), atMs: fromMs + decision * 60_000, accountId },
    ...{ livemode: true, rule: 'velocity', action: 'challenge', mode: 'on', scope: '+88017123', prefix: '+8801712' },
    ...{ statistic: 21, threshold: 20, times: 0, untilMs: 0, released: '' },
    ...more,
  };
};

test('decisions of the guard are listed with their figures, and refusals are reported beside the funnel', async () => {
  await record();
  const velocity = { what: 'refusal', rule: 'velocity', action: 'challenge' };
  const block = { what: 'block', rule: 'conversion', action: null } as const;
  const outage = { rule: 'outage', action: null, scope: 'alpha', prefix: '' } as const;
  const facts = [
    refusalOf({}),
    refusalOf({ statistic: 25.5, threshold: 22 }),
    refusalOf({ mode: 'shadow' }),
    refusalOf({ rule: 'clients', scope: 'ip', action: 'challenge' }),
    refusalOf({ rule: 'conversion', action: 'block' }),
    // Of a flood: so many in one.
    refusalOf({ rule: 'conversion', action: 'block', scope: '', prefix: '', times: 40 }),
    refusalOf({ what: 'probe', rule: 'conversion', action: 'block', times: 1 }),
    refusalOf({ what: 'challenge_passed', times: 7 }),
    refusalOf({ ...block, statistic: 11.8, threshold: 11.5, times: 3, untilMs: fromMs + hourMs }),
    refusalOf({ ...block, what: 'release', untilMs: fromMs + hourMs, released: 'probe' }),
    refusalOf({ ...outage, what: 'suspension', statistic: 0.75, threshold: 0.6 }),
    refusalOf({ ...outage, what: 'resumption', statistic: 0.25, threshold: 0.3 }),
  ];
  for (const fact of [...facts, ...facts]) await events.bus.jetstream.publish(factSubjects.guard, encodeFact(fact));
  await until('they are recorded', async () => (await rowsOf(otpDecisions, [])).length === 10);
  await settled();
  expect(await rowsOf(otpDecisions, [])).toMatchObject([
    { what: 'block', rule: 'conversion', action: '', mode: 'on', decisions: 1, figure_max: 11.8, threshold: 11.5 },
    { ...velocity, what: 'challenge_passed', mode: 'on', decisions: 7 },
    { what: 'probe', rule: 'conversion', action: 'block', mode: 'on', decisions: 1 },
    { what: 'refusal', rule: 'clients', action: 'challenge', decisions: 1 },
    { what: 'refusal', rule: 'conversion', action: 'block', decisions: 41 },
    { ...velocity, mode: 'on', decisions: 2, figure_max: 25.5, threshold: 22 },
    { ...velocity, mode: 'shadow', decisions: 1 },
    { what: 'release', rule: 'conversion', action: '', mode: 'on', decisions: 1 },
    { what: 'resumption', rule: 'outage', action: '', mode: 'on', decisions: 1, figure_max: 0.25, threshold: 0.3 },
    { what: 'suspension', rule: 'outage', action: '', mode: 'on', decisions: 1, figure_max: 0.75, threshold: 0.6 },
  ]);
  expect(await rowsOf(otpReport, ['prefix'])).toMatchObject([
    { prefix: '', started: 0, blocked: 40, challenged: 0 },
    { prefix: '+8801712', started: 0, blocked: 1, challenged: 3 },
  ]);
  expect(await rowsOf(otpReport, [], { filters: { prefix: '+880' } })).toMatchObject([{ blocked: 1, challenged: 3 }]);
}, 60_000);

test('receipts that no entered code follows are suspicious beside those of other carriers, and not before their time', async () => {
  await record();
  await publish();
  // alpha says delivered of everything and a tenth is entered; of beta's receipts seven of ten are.
  for (let nth = 0; nth < 240; nth += 1) {
    const carrier = nth % 2 === 0 ? 'alpha' : 'beta';
    const isOld = nth < 220;
    const startMs = isOld ? fromMs + nth * 1_000 : systemClock.nowMs() - 10_000;
    const otp = await numbers.start(otpNumber(50_000 + nth), { createdAtMs: startMs, expiresAtMs: startMs + 300_000 });
    const [send] = otp.sends;
    const context = {
      messageId: send?.messageId as MessageId,
      accountId,
      category: 'otp' as const,
      carrier,
      sender: 'HELIO',
    };
    await events.publish(lifeOf(contextOf({ ...context, acceptedAtMs: startMs })));
    messagesSent += 1;
    const at = Math.floor(nth / 2) % 10;
    if (isOld && at < (carrier === 'alpha' ? 1 : 7)) await numbers.verify(otp.id, startMs + 9_000);
  }
  await until('all are published', async () => {
    const [row] = await engine.rows('SELECT toUInt32(count()) FROM otps FINAL', {}, 5_000).catch(() => [[0]]);
    return Number(row?.[0]) === 240;
  });
  await until('and those whose time is over have ended', async () => {
    const [row] = await engine.rows("SELECT toUInt32(countIf(status = 'pending')) FROM otps FINAL", {}, 5_000);
    return Number(row?.[0]) === 20;
  });
  await settled();
  expect(await rowsOf(otpTrust, [])).toEqual([
    {
      ...{ carrier: 'alpha', messages: 110, claimed_delivered: 110, claimed_share: 1, verified: 11, conversion: 0.1 },
      ...{ verified_of_claimed_count: 11, trust: 0.1, peers_trust: 0.7, suspicious: 1 },
    },
    {
      ...{ carrier: 'beta', messages: 110, claimed_delivered: 110, claimed_share: 1, verified: 77, conversion: 0.7 },
      ...{ verified_of_claimed_count: 77, trust: 0.7, peers_trust: 0.1, suspicious: 0 },
    },
  ]);
  const [first, second] = await rowsOf(otpTrust, ['sender'], { filters: { carrier: 'alpha' } });
  expect([first, second]).toMatchObject([{ carrier: 'alpha', peers_trust: null, suspicious: 0 }, undefined]);
}, 120_000);
