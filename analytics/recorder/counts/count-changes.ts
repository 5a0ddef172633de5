// What a batch changes in the counts of reports: signed numbers, added up by what reports group by. A message is counted
// under its state: when that changes, the old count is taken back and the new one added. The rows of a batch follow from
// the batch and from what was recorded before it, so that a repeated insert has the same rows.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { halfHourS } from '../../reports/half-hour.ts';
import { latencyBucket } from '../../latency-buckets.ts';
import type { NativeBlock } from '../../store/native-block.ts';
import { tsvText } from '../../store/tab-separated.ts';
import { LatencyRows, MessageRows, type Sums } from './count-rows.ts';
import { type CountedState, countedStatuses, noTime, refusedStatus } from './counted-state.ts';
import type { Names } from '../../store/names.ts';

/** The spans of a message's life whose lengths are counted. */
const latencyStages = ['accepted_to_submitted', 'submitted_to_delivered', 'accepted_to_delivered'] as const;

/** The rows of both tables; null without rows. */
export type CountRows = { readonly messages: NativeBlock | null; readonly latencies: NativeBlock | null };

/** What all states of a message have in common. */
type Group = {
  readonly of: DeliveryEvent;
  readonly slotS: number;
  /** By status, carrier and error as one number. */
  readonly sums: Map<number, Sums>;
  /** Shared by all groups with the same account, mode, slot and category. */
  readonly latencies: Latencies;
};

/** By stage, bucket and carrier as one number. */
type Latencies = { readonly of: DeliveryEvent; readonly slotS: number; readonly counts: Map<number, number> };

/** The last half hour of DateTime's range, in 2106. */
const slotMaxS = Math.floor(0xffff_ffff / halfHourS) * halfHourS;
const statuses = 16;
const namesMax = 65_536;
const buckets = 1_024;

export class CountChanges {
  readonly names: Names;
  readonly #groups = new Map<string, Group>();
  readonly #latencies = new Map<string, Latencies>();
  #last: Group | null = null;

  /** `names`: the texts that states refer to. */
  constructor(names: Names) {
    this.names = names;
  }

  /** A message was in the state `before` (null: it has no event yet) and is in the state `after` now. */
  add(event: DeliveryEvent, before: CountedState | null, after: CountedState): void {
    const isMoved =
      before === null ||
      before.status !== after.status ||
      before.carrier !== after.carrier ||
      before.error !== after.error ||
      before.submittedBits !== after.submittedBits ||
      before.resent !== after.resent;
    const isTimed =
      before === null
        ? after.submittedMs !== noTime
        : before.submittedMs !== after.submittedMs ||
          before.deliveredMs !== after.deliveredMs ||
          before.carrier !== after.carrier;
    if (!isMoved && !isTimed) return;
    const group = this.#groupOf(event);
    if (isMoved) {
      if (before !== null) addState(group, before, -1);
      addState(group, after, 1);
    }
    if (isTimed) {
      if (before !== null) addLatencies(group, before, -1);
      addLatencies(group, after, 1);
    }
  }

  /** An event that is about no message to a subscriber: of these, refused requests are counted. */
  addOther(event: DeliveryEvent): void {
    if (event.kind !== 'refused') return;
    const error = this.names.indexOf(event.error ?? '');
    addTo(this.#groupOf(event), keyOf(refusedStatus, 0, error), 1, 0, 0);
  }

  rows(): CountRows {
    return { messages: this.#messageRows(), latencies: this.#latencyRows() };
  }

  #messageRows(): NativeBlock | null {
    const rows = new MessageRows();
    for (const group of this.#groups.values()) {
      for (const [key, sums] of group.sums) {
        if (sums.every((sum) => sum === 0)) continue;
        const rest = Math.floor(key / statuses);
        const state = {
          status: countedStatuses[key % statuses] as string,
          carrier: this.names.textOf(rest % namesMax),
          error: this.names.textOf(Math.floor(rest / namesMax)),
        };
        rows.add(group, state, sums);
      }
    }
    return rows.block();
  }

  #latencyRows(): NativeBlock | null {
    const rows = new LatencyRows();
    for (const latencies of this.#latencies.values()) {
      for (const [key, messages] of latencies.counts) {
        if (messages === 0) continue;
        const rest = Math.floor(key / buckets);
        const length = {
          bucket: key % buckets,
          stage: latencyStages[rest % latencyStages.length] as string,
          carrier: this.names.textOf(Math.floor(rest / latencyStages.length)),
        };
        rows.add(latencies, length, messages);
      }
    }
    return rows.block();
  }

  #groupOf(event: DeliveryEvent): Group {
    const atS = Math.min(Math.floor(event.acceptedAtMs / 1_000 / halfHourS) * halfHourS, slotMaxS);
    if (this.#last !== null && isSameGroup(this.#last, event, atS)) return this.#last;
    const account = `${tsvText(event.accountId)}\t${event.livemode ? 1 : 0}\t${atS}\t${tsvText(event.category)}`;
    const prefix =
      `${account}\t${tsvText(event.sender)}\t${tsvText(event.encoding)}\t${event.segments}\t` +
      `${tsvText(event.campaignId)}\t${tsvText(event.variantId)}`;
    let group = this.#groups.get(prefix);
    if (group === undefined) {
      let latencies = this.#latencies.get(account);
      if (latencies === undefined)
        this.#latencies.set(account, (latencies = { of: event, slotS: atS, counts: new Map() }));
      this.#groups.set(prefix, (group = { of: event, slotS: atS, sums: new Map(), latencies }));
    }
    this.#last = group;
    return group;
  }
}

function isSameGroup({ of, slotS: atS }: Group, event: DeliveryEvent, eventSlotS: number): boolean {
  return (
    of.accountId === event.accountId &&
    of.sender === event.sender &&
    of.category === event.category &&
    atS === eventSlotS &&
    of.livemode === event.livemode &&
    of.encoding === event.encoding &&
    of.segments === event.segments &&
    of.campaignId === event.campaignId &&
    of.variantId === event.variantId
  );
}

const keyOf = (status: number, carrier: number, error: number): number =>
  status + statuses * (carrier + namesMax * error);

function addState(group: Group, state: CountedState, sign: 1 | -1): void {
  const segments = bitsIn(state.submittedBits);
  addTo(group, keyOf(state.status, state.carrier, state.error), sign, sign * segments, state.resent ? sign : 0);
}

function addTo({ sums }: Group, key: number, messages: number, segments: number, resent: number): void {
  const held = sums.get(key);
  if (held === undefined) {
    sums.set(key, [messages, segments, resent]);
    return;
  }
  held[0] += messages;
  held[1] += segments;
  held[2] += resent;
}

function addLatencies({ latencies }: Group, state: CountedState, sign: 1 | -1): void {
  const { submittedMs, deliveredMs, dueMs, carrier } = state;
  if (submittedMs === noTime) return;
  addLatency(latencies.counts, 0, submittedMs - dueMs, carrier, sign);
  if (deliveredMs === noTime) return;
  addLatency(latencies.counts, 1, deliveredMs - submittedMs, carrier, sign);
  addLatency(latencies.counts, 2, deliveredMs - dueMs, carrier, sign);
}

function addLatency(counts: Map<number, number>, stage: number, ms: number, carrier: number, sign: 1 | -1): void {
  const key = latencyBucket(ms) + buckets * (stage + latencyStages.length * carrier);
  counts.set(key, (counts.get(key) ?? 0) + sign);
}

function bitsIn(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count += 1;
  return count;
}
