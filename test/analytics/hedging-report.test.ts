// The report of hedged one-time passwords: what the second copies brought beside the control group is computed again from what
// the test itself published, for each grouping, filter and time zone, live and test apart.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Recorder, startRecorder } from '../../analytics/recorder/recorder.ts';
import { hedging } from '../../analytics/reports/hedging.ts';
import { type ReportQuery, nothingSummarized } from '../../analytics/reports/report.ts';
import { sizeOf } from '../../analytics/reports/statement.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { type HedgeRule, controlGroup, hedgeReasons, hedgeRules } from '../../model/copies.ts';
import { type DeliveryEvent, type EventKind, acceptedEvent, deliveryEvent } from '../../model/delivery-event.ts';
import { newAccountId } from '../../model/ids.ts';
import { seededRandom } from '../../platform/random.ts';
import { type ReportRow, askPatiently, reportRows } from '../support/report-rows.ts';
import { until } from '../support/until.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';
import { contextOf } from './support/events.ts';

const hourMs = 3_600_000;
/** In Kolkata a day begins at half past the second hour. */
const fromMs = Date.UTC(2026, 9, 24, 17);
const toMs = fromMs + 3 * hourMs;
const accountId = newAccountId(fromMs);
const otherId = newAccountId(fromMs + 1);

let store: EventStore;
let publisher: Publisher;
let recorder: Recorder;

/** What the report should know of a message that was late. */
type Late = {
  readonly accountId: string;
  readonly livemode: boolean;
  readonly acceptedAtMs: number;
  readonly carrier: string;
  readonly sender: string;
  readonly rule: HedgeRule;
  readonly second_copy: 'yes' | 'control';
  /** From the decision to the first delivery, and whether the second copy was that; null: none. */
  readonly delivered: { readonly afterMs: number; readonly bySecond: boolean } | null;
};
const lates: Late[] = [];
let published: readonly DeliveryEvent[] = [];
const random = seededRandom(64);
const one = <T>(list: readonly T[]): T => list[Math.floor(random.unit() * list.length)] as T;

/** Published: a message of this time and whatever became of it. */
function anyLife(acceptedAtMs: number): readonly DeliveryEvent[] {
  const [carrier, next] = one([
    ['alpha', 'beta'],
    ['beta', 'alpha'],
  ] as const);
  const context = contextOf({
    accountId: random.unit() < 0.9 ? accountId : otherId,
    livemode: random.unit() < 0.9,
    acceptedAtMs,
    category: 'otp',
    carrier,
    sender: one(['HELIO', "O'Neil"]),
    // Some come to the carrier that is late after a move.
    hop: one([0, 0, 1]),
  });
  const on = (copy: 0 | 1, kind: EventKind, atMs: number, error: string | null = null) =>
    deliveryEvent(
      { ...context, hop: context.hop + copy, carrier: copy === 0 ? carrier : next },
      { kind, error, attempt: 1, segment: 1, atMs },
    );
  const isControl = random.unit() < 0.3;
  const rule = one(hedgeRules);
  const decidedMs = acceptedAtMs + 300 + Math.floor(random.unit() * 3_000);
  const afterMs = () => (random.unit() < 0.1 ? 10_000 : Math.floor(10 ** (1 + random.unit() * 3.7)));
  const first = random.unit() < 0.6 ? afterMs() : null;
  const second = !isControl && random.unit() < 0.7 ? afterMs() : null;
  const error = `${isControl ? controlGroup : `to ${next}: `}${hedgeReasons[rule]}`;
  // Without a copy it may be refused after that, and late at the next carrier as well.
  const isLateAgain = isControl && random.unit() < 0.3;
  const delivering = isLateAgain ? 1 : 0;
  const again = isLateAgain ? [on(1, 'hedged', decidedMs + 8, `${controlGroup}${hedgeReasons.receipt}`)] : [];
  const ends = [
    ...(first === null ? [on(0, 'undelivered', decidedMs + 9, 'receipt_undelivered')] : []),
    ...(first === null ? [] : [on(delivering, 'delivered', decidedMs + first)]),
    ...(second === null ? [] : [on(1, 'submitted', decidedMs + 1), on(1, 'delivered', decidedMs + second)]),
  ];
  const events = [acceptedEvent(context), on(0, 'submitted', acceptedAtMs + 100)];
  // Not every message is late.
  if (random.unit() < 0.2) return [...events, on(0, 'delivered', acceptedAtMs + 200)];
  const firstMs = Math.min(first ?? Infinity, second ?? Infinity);
  lates.push({
    ...{
      accountId: context.accountId,
      livemode: context.livemode,
      acceptedAtMs,
      carrier,
      sender: context.sender,
      rule,
    },
    second_copy: isControl ? 'control' : 'yes',
    delivered: firstMs === Infinity ? null : { afterMs: firstMs, bySecond: (second ?? Infinity) < (first ?? Infinity) },
  });
  return [...events, on(0, 'hedged', decidedMs, error), ...again, ...ends];
}

beforeAll(async () => {
  store = await startEventStore();
  publisher = new Publisher(store.bus, { deadlineMs: 20_000 });
  recorder = await startRecorder({ bus: store.bus, engine: store.engine, publisher });
  const inTime = Array.from({ length: 600 }, () => fromMs + Math.floor(random.unit() * (toMs - fromMs)));
  const edges = [fromMs - 1, fromMs, toMs - 1, toMs].flatMap((ms) => Array.from({ length: 10 }, () => ms));
  const events = [...inTime, ...edges].map(anyLife);
  for (let at = 0; at < events.length; at += 50) await store.publish(events.slice(at, at + 50).flat());
  published = events.flat();
  // What is published twice counts once.
  await store.publish(published.slice(0, 300));
  const { state } = await store.bus.manager.streams.info('EVENTS');
  await until('all recorded', () => recorder.recordedTo >= state.last_seq);
});
afterAll(async () => {
  await recorder?.stop(5_000);
  publisher?.close();
  await store?.stop();
});

const rowsOf = (more: Partial<ReportQuery> = {}) =>
  reportRows(store.engine, hedging, { accountId, fromMs, toMs, ...more });

/** Bounds of a share at 95 %, as the roots of the score equation. */
function boundsOf(part: number, whole: number): readonly [number, number] {
  const [p, z2] = [part / whole, 1.96 ** 2];
  const [a, b, c] = [1 + z2 / whole, -2 * p - z2 / whole, p * p];
  const root = Math.sqrt(Math.max(0, b * b - 4 * a * c));
  return [(-b - root) / (2 * a), (-b + root) / (2 * a)];
}

const soonOf = (list: readonly Late[]) =>
  list.filter(({ delivered }) => (delivered?.afterMs ?? Infinity) <= 10_000).length;

/** What is said of this group beside its control group. */
function rowOf(list: readonly Late[], control: readonly Late[]): ReportRow {
  const times = list.flatMap(({ delivered }) => (delivered === null ? [] : [delivered.afterMs])).sort((a, b) => a - b);
  const [first] = list;
  const soon = soonOf(list);
  const saved = () => {
    const [p, q] = [soon / list.length, soonOf(control) / control.length];
    const [[l1, u1], [l2, u2]] = [boundsOf(soon, list.length), boundsOf(soonOf(control), control.length)];
    const [below, above] = [Math.hypot(p - l1, u2 - q), Math.hypot(u1 - p, q - l2)];
    return { saved_share: p - q, saved_share_low: p - q - below, saved_share_high: p - q + above };
  };
  const isCompared = first?.second_copy === 'yes' && control.length > 0;
  return {
    ...{
      rule: first?.rule ?? '',
      second_copy: first?.second_copy ?? '',
      messages: list.length,
      delivered: times.length,
    },
    ...{ delivered_share: times.length / list.length, delivered_10s: soon },
    delivered_10s_share: soon / list.length,
    delivered_p50_ms: times[Math.ceil(times.length * 0.5) - 1] ?? null,
    delivered_p95_ms: times[Math.ceil(times.length * 0.95) - 1] ?? null,
    second_copy_first: list.filter(({ delivered }) => delivered?.bySecond === true).length,
    ...(isCompared ? saved() : { saved_share: null, saved_share_low: null, saved_share_high: null }),
  };
}

type Keys = Readonly<Record<string, (late: Late) => string>>;

function expected(list: readonly Late[], keys: Keys): readonly ReportRow[] {
  const alike = (late: Late) => [...Object.values(keys).map((key) => key(late)), late.rule].join('\n');
  const groups = Map.groupBy(list, (late) => `${alike(late)}\n${late.second_copy}`);
  return [...groups.entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, group]) => {
      const [first] = group as [Late, ...Late[]];
      const control = list.filter((late) => late.second_copy === 'control' && alike(late) === alike(first));
      return {
        ...Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, key(first)])),
        ...rowOf(group, control),
      };
    });
}

function expectSame(found: readonly ReportRow[], list: readonly Late[], keys: Keys = {}): void {
  const wanted = expected(list, keys);
  const isRounded = (name: string) => name.includes('_share');
  const exact = (row: ReportRow) => Object.fromEntries(Object.entries(row).filter(([name]) => !isRounded(name)));
  expect(found.map(exact)).toEqual(wanted.map(exact));
  for (const [at, row] of wanted.entries()) {
    for (const name of Object.keys(row).filter(isRounded)) {
      const [value, of] = [row[name] ?? null, found[at]?.[name] ?? null];
      if (value === null || of === null) expect([name, of]).toEqual([name, value]);
      else expect(Math.abs(Number(of) - Number(value))).toBeLessThan(0.000_051);
    }
  }
}

const isAsked = (of: Pick<Late, 'accountId' | 'acceptedAtMs'>) =>
  of.accountId === accountId && of.acceptedAtMs >= fromMs && of.acceptedAtMs < toMs;
const live = () => lates.filter((late) => isAsked(late) && late.livemode);

const india = (ms: number) => new Date(ms + 5.5 * hourMs).toISOString();
const keyOf = {
  carrier: ({ carrier }: Late) => carrier,
  sender: ({ sender }: Late) => sender,
  day: ({ acceptedAtMs }: Late) => india(acceptedAtMs).slice(0, 10),
  hour: ({ acceptedAtMs }: Late) => `${india(acceptedAtMs).slice(0, 13)}:00:00+05:30`,
} as const;

test('both groups of both rules are what happened, and what was saved is the difference to the control group', async () => {
  const rows = await rowsOf();
  expectSame(rows, live());
  expect(rows.map((row) => [row['rule'], row['second_copy']])).toEqual([
    ['receipt', 'control'],
    ['receipt', 'yes'],
    ['response', 'control'],
    ['response', 'yes'],
  ]);
  for (const row of rows.filter((each) => each['second_copy'] === 'yes')) {
    expect(row['second_copy_first']).toBeGreaterThan(20);
    expect(Number(row['saved_share_low'])).toBeLessThan(Number(row['saved_share']));
  }
});

test.each(['carrier', 'sender', 'day', 'hour', 'day,carrier', 'hour,sender'])(
  'by %s of the time zone, beside the control group of the same',
  async (by) => {
    const groupBy = by.split(',') as (keyof typeof keyOf)[];
    const keys = Object.fromEntries(groupBy.map((name) => [name, keyOf[name]]));
    const rows = await rowsOf({ groupBy, timeZone: 'Asia/Kolkata' });
    expect(rows.length).toBeGreaterThan(4);
    expectSame(rows, live(), keys);
  },
);

test('filters, the mode and the account leave out the others', async () => {
  const filters = { carrier: 'beta', sender: "O'Neil" };
  const asked = live().filter(({ carrier, sender }) => carrier === filters.carrier && sender === filters.sender);
  expectSame(await rowsOf({ filters }), asked);
  const tested = lates.filter((late) => isAsked(late) && !late.livemode);
  expect(tested.length).toBeGreaterThan(10);
  expectSame(await rowsOf({ livemode: false }), tested);
  const ofOther = lates.filter((late) => late.accountId === otherId && late.livemode && late.acceptedAtMs >= fromMs);
  expectSame(
    await rowsOf({ accountId: otherId }),
    ofOther.filter(({ acceptedAtMs }) => acceptedAtMs < toMs),
  );
  expect(await rowsOf({ filters: { carrier: 'gamma' } })).toEqual([]);
});

test('it says how many events it reads', async () => {
  const query = { report: hedging.name, accountId, livemode: true, fromMs, toMs, timeZone: 'UTC' } as const;
  const { sql = '', params = {} } =
    sizeOf(hedging, { ...query, groupBy: [], filters: {}, format: 'json' }, nothingSummarized) ?? {};
  const read = published.filter((event) => isAsked(event) && event.livemode);
  expect(JSON.parse(await askPatiently(store.engine, { sql, params }))).toEqual({ n: read.length, groups: 0 });
});
