// The overflow shards of one carrier that contain records: opens a consumer for each, counts what waits, closes it
// after a while without records, and publishes which accounts the entry points are to send there. overflow-writer.ts
// fills them, intake.ts takes what comes out. No overflow shard is forgotten: a check of all of them finds what an
// earlier incarnation or another node left.
import type { JsMsg } from '@nats-io/jetstream';
import { overflowHeartbeats } from '../../../cluster/bus/overflow-heartbeat.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { type Consumption, consumeStream } from '../../../cluster/bus/consume.ts';
import { consumerInfo } from '../../../cluster/bus/ensure.ts';
import { messageConsumer, messageConsumerName, streamNames } from '../../../cluster/bus/streams.ts';
import { type OverflowShard, overflowShardOf, messageFilter } from '../../../cluster/bus/subjects.ts';
import { overflowDepth } from '../../../cluster/bus/waiting-messages.ts';
import { type Lane, laneOf } from '../../../model/message.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { ignoring, messageOf } from '../../../platform/errors.ts';
import type { AccountQueueMax } from '../../../platform/limits-lanes.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { NextRun } from '../../../platform/next-run.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { reservedInLane } from '../queue/lanes.ts';

export type OverflowShardsParts = {
  readonly bus: Bus;
  readonly carrier: string;
  /** Identifies this incarnation among the carrier's actors. */
  readonly node: string;
  /** The sum of the carrier's windows, in PDUs. */
  readonly windowPdus: number;
  /** How much one account may have waiting in a lane before the entry points refuse it. */
  readonly accountQueueMax: AccountQueueMax;
  readonly clock: Clock;
  readonly take: (record: JsMsg, lane: Lane) => void;
  readonly onPoison: (record: JsMsg, stream: string, reason: string) => void;
};

type Open = {
  readonly lane: Lane;
  readonly shard: OverflowShard;
  consumption: Consumption | null;
  /** As last counted, including records in flight, and what was moved there since. */
  waiting: number;
  emptySinceMs: number;
  full: boolean;
  isCounting: boolean;
};
/**
 * An account seen entering or leaving an overflow shard, and how often: both show that it used overflow lately, and what
 * an earlier incarnation moved there is only seen leaving. How much waits is counted by the shard.
 */
type Seen = { readonly open: Open; count: number };

const { overflow } = limits;
const lanes: readonly Lane[] = Object.values(laneOf);

export class OverflowShards {
  readonly #parts: OverflowShardsParts;
  readonly #open = new Map<string, Open>();
  readonly #accounts: Readonly<Record<Lane, Map<string, Seen>>> = { otp: new Map(), txn: new Map(), promo: new Map() };
  /** By subject of an account shard: the last sequence that an earlier incarnation got, long ago. */
  readonly #leftUntil = new Map<string, number>();
  /** Hundreds of records are redelivered together when a node ends: one query serves all of them. */
  readonly #depths: Readonly<Record<Lane, NextRun<ReadonlyMap<OverflowShard, number>>>>;
  #cancels: Cancel[] = [];
  #published = '{}';
  #publishedAtMs = 0;
  #running = false;

  constructor(parts: OverflowShardsParts) {
    this.#parts = parts;
    const depths = (lane: Lane) => new NextRun(() => overflowDepth(parts.bus, lane, parts.carrier));
    this.#depths = { otp: depths('otp'), txn: depths('txn'), promo: depths('promo') };
  }

  /** Resolves when it is known what waits in overflow, and its consumers are being opened. */
  async start(): Promise<void> {
    const { clock } = this.#parts;
    this.#running = true;
    await Promise.all(lanes.map((lane) => this.#look(lane, true)));
    // When overflow is empty no record can have a copy there.
    if (this.#open.size > 0) await Promise.all(lanes.map((lane) => this.#findLeft(lane)));
    this.#cancels = [
      clock.every(overflow.lookEveryMs, () => lanes.forEach((lane) => void this.#look(lane, false))),
      clock.every(overflow.countEveryMs, () => this.#count()),
    ];
  }

  async stop(): Promise<void> {
    this.#running = false;
    for (const cancel of this.#cancels) cancel();
    const open = [...this.#open.values()];
    for (const each of open) this.#forget(each);
    this.#publish();
    await Promise.all(open.map(async ({ consumption }) => consumption?.stop()));
  }

  /**
   * A record of the account is moved to its overflow shard. A flood is published at once: until the entry points know
   * it, they put its records before those of other accounts.
   */
  enters(lane: Lane, accountId: string): void {
    const seen = this.#see(lane, accountId);
    if (seen === null) return;
    seen.open.waiting += 1;
    // Usually one of them reaches the threshold here. If it does elsewhere (another account's record, one that leaves), the
    // next count publishes it.
    if (Math.min(seen.count, seen.open.waiting) === this.#floodsFrom) this.#publish();
  }

  /** A record of the account has left its overflow shard. */
  leaves(lane: Lane, accountId: string): void {
    this.#see(lane, accountId);
  }

  /** Null while stopped. */
  #see(lane: Lane, accountId: string): Seen | null {
    if (!this.#running) return null;
    const accounts = this.#accounts[lane];
    let seen = accounts.get(accountId);
    if (seen === undefined) {
      if (accounts.size >= overflow.accountsMax) accounts.delete(accounts.keys().next().value as string);
      seen = { open: this.#opened(lane, overflowShardOf(accountId)), count: 0 };
      accounts.set(accountId, seen);
    }
    seen.count += 1;
    return seen;
  }

  /** Whether all records of the account should go to overflow until it is empty. */
  floods(lane: Lane, accountId: string): boolean {
    return (this.#accounts[lane].get(accountId)?.count ?? 0) >= this.#floodsFrom;
  }

  /** How many records wait in the account's overflow shard, asked of the server; throws without an answer. */
  async waitingOf(lane: Lane, accountId: string): Promise<number> {
    return (await this.#depths[lane].result()).get(overflowShardOf(accountId)) ?? 0;
  }

  /**
   * Whether a record of an account shard was delivered to an earlier incarnation, so long ago that the stream may have
   * forgotten the ids of its last publishes.
   */
  wasLeft(lane: Lane, record: Pick<JsMsg, 'subject' | 'seq'>): boolean {
    return record.seq <= (this.#leftUntil.get(record.subject) ?? 0);
  }

  async #findLeft(lane: Lane): Promise<void> {
    const { bus, carrier, clock } = this.#parts;
    for (let shard = 0; shard < limits.bus.accountShards; shard += 1) {
      const info = await consumerInfo(
        bus.manager,
        streamNames.messages[lane],
        messageConsumerName(lane, carrier, shard),
      );
      const servedAtMs = Date.parse(String(info?.delivered.last_active ?? ''));
      if (info === null || info.num_ack_pending === 0 || Math.abs(clock.nowMs() - servedAtMs) < overflow.unservedMs)
        continue;
      this.#leftUntil.set(messageFilter(lane, carrier, shard), info.delivered.stream_seq);
    }
  }

  /** An account with fewer records than this in overflow is not published as flooding. */
  get #floodsFrom(): number {
    return reservedInLane(this.#parts.windowPdus, 1);
  }

  #opened(lane: Lane, shard: OverflowShard): Open {
    const name = nameOf(lane, shard);
    const known = this.#open.get(name);
    if (known !== undefined) return known;
    const { clock } = this.#parts;
    const emptySinceMs = clock.monotonicMs();
    const open: Open = { lane, shard, consumption: null, waiting: 0, emptySinceMs, full: false, isCounting: false };
    this.#open.set(name, open);
    void this.#consume(open);
    return open;
  }

  async #consume(open: Open): Promise<void> {
    const { bus, carrier, windowPdus, clock, take, onPoison } = this.#parts;
    const { lane, shard } = open;
    const stream = streamNames.messages[lane];
    try {
      const consumption = await consumeStream(bus, {
        stream,
        consumer: messageConsumer(lane, carrier, shard, windowPdus),
        prefetch: Math.max(16, Math.min(overflow.heldMax, windowPdus)),
        handle: (record) => take(record, lane),
        onPoison: (record, reason) => onPoison(record, stream, reason),
        lowPriority: lane !== 'otp',
        clock,
      });
      if (this.#open.get(nameOf(lane, shard)) !== open) return await consumption.stop();
      open.consumption = consumption;
    } catch (error) {
      // The next check finds what waits there.
      log.warn({ carrier, lane, shard, error: messageOf(error) }, 'an overflow shard could not be opened');
      this.#forget(open);
    }
  }

  #forget(open: Open): void {
    const { lane, shard } = open;
    if (this.#open.get(nameOf(lane, shard)) === open) {
      this.#open.delete(nameOf(lane, shard));
      metrics.overflowWaiting.remove({ carrier: this.#parts.carrier, lane, shard });
    }
    this.#forgetAccounts(open);
  }

  #forgetAccounts(open: Open): void {
    const accounts = this.#accounts[open.lane];
    for (const [accountId, seen] of accounts) if (seen.open === open) accounts.delete(accountId);
  }

  async #look(lane: Lane, mustWork: boolean): Promise<void> {
    try {
      const waiting = await this.#depths[lane].result();
      for (const shard of waiting.keys()) if (this.#running) this.#opened(lane, shard);
    } catch (error) {
      if (mustWork) throw error;
      ignoring(error, 'what waits in overflow is looked at again in a while');
    }
  }

  /** Each shard on its own: a stream or a consumer without a leader delays the counts of no other one. */
  #count(): void {
    for (const each of this.#open.values()) void this.#countOne(each);
    if (this.#open.size === 0) this.#publish();
  }

  async #countOne(open: Open): Promise<void> {
    if (open.consumption === null || open.isCounting) return;
    open.isCounting = true;
    try {
      await this.#countWaiting(open, open.consumption);
    } catch (error) {
      ignoring(error, 'what waits in overflow is counted again in a moment');
    }
    open.isCounting = false;
    if (this.#running) this.#publish();
  }

  async #countWaiting(open: Open, consumption: Consumption): Promise<void> {
    const { bus, carrier, clock } = this.#parts;
    const { lane, shard } = open;
    const asked = bus.manager.consumers.info(streamNames.messages[lane], messageConsumerName(lane, carrier, shard));
    const info = await withDeadline('what waits in overflow', overflow.lookTimeoutMs, asked);
    if (this.#open.get(nameOf(lane, shard)) !== open) return;
    open.waiting = info.num_pending + info.num_ack_pending;
    metrics.overflowWaiting.set({ carrier, lane, shard }, open.waiting);
    const nowMs = clock.monotonicMs();
    if (open.waiting > 0) open.emptySinceMs = nowMs;
    // All of it is in its lane, and later records follow it there.
    if (info.num_pending === 0) this.#forgetAccounts(open);
    if (nowMs - open.emptySinceMs < overflow.lingerMs) return;
    this.#forget(open);
    await consumption.stop();
  }

  #publish(): void {
    const { bus, carrier, node, clock } = this.#parts;
    const published: Partial<Record<Lane, Record<string, boolean>>> = {};
    for (const lane of lanes) {
      const flooding = [...this.#accounts[lane]].filter(
        ([accountId, { open }]) => this.floods(lane, accountId) && open.waiting >= this.#floodsFrom,
      );
      if (flooding.length === 0) continue;
      this.#judgeFull(lane, flooding);
      published[lane] = Object.fromEntries(flooding.map(([accountId, { open }]) => [accountId, open.full]));
    }
    const text = JSON.stringify(published);
    const nowMs = clock.monotonicMs();
    // Published once when no account floods: an entry point that misses it uses the old value until it expires.
    if (text === this.#published && (text === '{}' || nowMs - this.#publishedAtMs < overflow.publishEveryMs)) return;
    this.#published = text;
    this.#publishedAtMs = nowMs;
    overflowHeartbeats.publish(bus, { carrier, node, lanes: published });
  }

  /** Floods that share an overflow shard are counted together, and so are their queues. */
  #judgeFull(lane: Lane, flooding: readonly (readonly [string, Seen])[]): void {
    const sharing = new Map<Open, number>();
    for (const [, { open }] of flooding) sharing.set(open, (sharing.get(open) ?? 0) + 1);
    for (const [open, accounts] of sharing) {
      const most = this.#parts.accountQueueMax[lane] * accounts;
      open.full = open.waiting >= (open.full ? most * overflow.refusedUntilShare : most);
    }
  }
}

function nameOf(lane: Lane, shard: OverflowShard): string {
  return `${lane}.${shard}`;
}
