// The counts of reports against the events they were made from: every event is read back, folded with the product's
// fold of single messages (model/fold.ts) and counted here; both tables and all their tiers must say the same.
import { expect } from 'vitest';
import { bucketGrowth } from '../../analytics/latency-buckets.ts';
import { isOfMessage } from '../../analytics/recorder/counts/counted-state.ts';
import { type Condition, tiersOf } from '../../analytics/reports/tiers.ts';
import { type Cell } from '../../analytics/store/engine.ts';
import { eventColumns, eventOfRow, eventOrder } from '../../analytics/store/event-row.ts';
import { type MessageState, foldEvent } from '../../model/fold.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { isTerminal } from '../../model/status.ts';

type Rows = (sql: string) => Promise<unknown[][]>;
type Counts = ReadonlyMap<string, readonly number[]>;

/** Resolves with the messages of each status when all counts are exact; fails otherwise. */
export async function expectExactCounts(rows: Rows): Promise<Readonly<Record<string, number>>> {
  const events = (await rows(`SELECT ${eventColumns} FROM sms_events ORDER BY ${eventOrder}`)).map((row) =>
    eventOfRow(row as Cell[]),
  );
  const { messages, latencies } = recount(events);
  expect(await counted(rows, 'message_counts', messageKeys, messageSums)).toEqual(messages);
  expect(await counted(rows, 'latency_counts', latencyKeys, ['messages'])).toEqual(latencies);
  const ofMessages = tiersOf.message_counts;
  for (const tier of [...ofMessages.halfHours, ...ofMessages.blocks]) {
    const has = new Map([...messages].filter(([key]) => tier.only.every((only) => fulfils[only]?.(JSON.parse(key)))));
    await expectExactTier(rows, tier, has, messageKeys, messageSums);
  }
  const ofLatencies = tiersOf.latency_counts;
  for (const tier of [...ofLatencies.halfHours, ...ofLatencies.blocks]) {
    await expectExactTier(rows, tier, latencies, latencyKeys, ['messages']);
  }
  const byStatus: Record<string, number> = {};
  for (const [key, [count = 0]] of messages) {
    const status = JSON.parse(key)[3] as string;
    byStatus[status] = (byStatus[status] ?? 0) + count;
  }
  return byStatus;
}

/** Every message has in this view, made of events in SQL, what the fold of its events says. */
export async function expectSameFolds(rows: Rows, view: string): Promise<void> {
  const isThere = `message_id IN (SELECT message_id FROM ${view})`;
  const events = await rows(`SELECT ${eventColumns} FROM sms_events WHERE ${isThere} ORDER BY ${eventOrder}`);
  const states = new Map<string, MessageState>();
  for (const event of events.map((row) => eventOfRow(row as Cell[]))) {
    if (isOfMessage(event)) states.set(event.messageId, foldEvent(states.get(event.messageId) ?? null, event));
  }
  const folded = [...states].map(([id, { status, carrier, error, resent }]) => [
    id,
    ...[status, carrier ?? '', isTerminal(status) ? (error ?? '') : '', resent ? 1 : 0],
  ]);
  const columns = 'message_id, status, carrier, error, is_resent';
  expect(await rows(`SELECT ${columns} FROM ${view} WHERE status != 'refused' ORDER BY message_id`)).toEqual(
    folded.toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1)),
  );
}

const slotKey = 'toUnixTimestamp(slot)';
const ownKeys = new Set(['account_id', 'livemode']);
const messageKeys = [
  slotKey,
  'account_id',
  'livemode',
  'status',
  'category',
  'carrier',
  'error',
  'sender',
  'encoding',
  'segments',
  'campaign_id',
  'variant_id',
];
const cellOf = (cells: readonly unknown[], name: string) => cells[messageKeys.indexOf(name)];
/** By the condition that all rows of a tier fulfil. */
const fulfils: Readonly<Partial<Record<Condition, (cells: readonly unknown[]) => boolean>>> = {
  notRefused: (cells) => cellOf(cells, 'status') !== 'refused',
  withError: (cells) =>
    !['scheduled', 'accepted', 'submitted', 'delivered', 'canceled'].includes(String(cellOf(cells, 'status'))),
  ofCampaigns: (cells) => cellOf(cells, 'campaign_id') !== '',
};
const messageSums = ['messages', 'segments_submitted', 'resent'];
const latencyKeys = [slotKey, 'account_id', 'livemode', 'category', 'carrier', 'stage', 'bucket'];

async function counted(rows: Rows, table: string, keys: readonly string[], sums: readonly string[]): Promise<Counts> {
  const list = sums.map((name) => `toInt64(sum(${name})) AS s_${name}`);
  const found = await rows(
    `SELECT ${keys.join(', ')}, ${list.join(', ')} FROM ${table} GROUP BY ${keys.join(', ')}
     HAVING ${sums.map((name) => `s_${name} != 0`).join(' OR ')}`,
  );
  return new Map(found.map((row) => [keyOf(row.slice(0, keys.length)), row.slice(keys.length).map(Number)]));
}

const keyOf = (cells: readonly unknown[]): string => JSON.stringify(cells);

/** A tier has the counts without the columns that it does not have. */
async function expectExactTier(
  rows: Rows,
  { table, name, columns }: { readonly table: string; readonly name: string; readonly columns: readonly string[] },
  counts: Counts,
  keys: readonly string[],
  sums: readonly string[],
): Promise<void> {
  const slotS = name.endsWith('_6h') ? 21_600 : 1_800;
  const has = keys.map((key) => key === slotKey || ownKeys.has(key) || columns.includes(key));
  const summed = new Map<string, number[]>();
  for (const [key, added] of counts) {
    const [slot, ...rest] = (JSON.parse(key) as [number, ...unknown[]]).filter((_, at) => has[at]) as [number];
    addTo(summed, [Math.floor(slot / slotS) * slotS, ...rest], added);
  }
  const kept = keys.filter((_, at) => has[at]);
  expect(await counted(rows, `${table} WHERE tier = '${name}'`, kept, sums)).toEqual(summed);
}

function addTo(counts: Map<string, number[]>, cells: readonly unknown[], sums: readonly number[]): void {
  const held = counts.get(keyOf(cells)) ?? sums.map(() => 0);
  counts.set(
    keyOf(cells),
    held.map((sum, at) => sum + (sums[at] ?? 0)),
  );
}

function recount(events: readonly DeliveryEvent[]): { readonly messages: Counts; readonly latencies: Counts } {
  const messages = new Map<string, number[]>();
  const latencies = new Map<string, number[]>();
  const states = new Map<string, { state: MessageState; dueMs: number }>();
  for (const event of events) {
    if (event.kind === 'refused') addTo(messages, cellsOf(event, 'refused', '', event.error ?? ''), [1, 0, 0]);
    if (!isOfMessage(event)) continue;
    const before = states.get(event.messageId);
    const state = foldEvent(before?.state ?? null, event);
    const isFirstSubmit = state.submittedAtMs !== (before?.state.submittedAtMs ?? null);
    const dueMs = isFirstSubmit ? (event.scheduledAtMs ?? event.acceptedAtMs) : (before?.dueMs ?? 0);
    states.set(event.messageId, { state, dueMs });
  }
  for (const { state, dueMs } of states.values()) {
    const { first, status, submittedAtMs, deliveredAtMs } = state;
    const carrier = state.carrier ?? '';
    const error = isTerminal(status) ? (state.error ?? '') : '';
    const segments = state.submittedBits.toString(2).replaceAll('0', '').length;
    addTo(messages, cellsOf(first, status, carrier, error), [1, segments, state.resent ? 1 : 0]);
    const time = (stage: string, fromMs: number | null, toMs: number | null) => {
      if (fromMs === null || toMs === null) return;
      const ms = toMs - fromMs;
      const bucket = ms < 1 ? 0 : 1 + Math.floor(Math.log(ms) / Math.log(bucketGrowth));
      addTo(latencies, [slotOf(first), first.accountId, first.livemode, first.category, carrier, stage, bucket], [1]);
    };
    if (submittedAtMs === null) continue;
    time('accepted_to_submitted', dueMs, submittedAtMs);
    time('submitted_to_delivered', submittedAtMs, deliveredAtMs);
    time('accepted_to_delivered', dueMs, deliveredAtMs);
  }
  return { messages, latencies };
}

const slotOf = ({ acceptedAtMs }: DeliveryEvent): number => Math.floor(acceptedAtMs / 1_800_000) * 1_800;

function cellsOf(of: DeliveryEvent, status: string, carrier: string, error: string): readonly unknown[] {
  return [
    slotOf(of),
    of.accountId,
    of.livemode,
    status,
    of.category,
    carrier,
    error,
    of.sender,
    of.encoding,
    of.segments,
    of.campaignId ?? '',
    of.variantId ?? '',
  ];
}
