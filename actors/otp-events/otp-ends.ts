// Notices that the time of a one-time password is over, which nobody writes down: it waits for the end of each that is
// pending, reads its record once more, asks the event store what became of its messages, and publishes the end. What
// waits is in memory; the records it came from are read again after a restart.
import { type GetMessageReply, querySubjects } from '../../analytics/contract.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { LatestRecords } from '../../cluster/bus/latest-record.ts';
import { type OtpFact, endOfTime, otpFactsOf } from '../../model/fact.ts';
import type { MessageId, OtpId } from '../../model/ids.ts';
import { isUndelivered } from '../../model/otp.ts';
import { decodeOtpNumber } from '../../model/records/otp-record.ts';
import type { Clock } from '../../platform/clock.ts';
import { untilDone } from '../../platform/deadline.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { MinHeap } from '../../platform/min-heap.ts';
import { RotatingMap } from '../../platform/rotating-map.ts';
import { queryEventStore } from '../ask-event-store.ts';

type OtpEndsParts = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** Publishes an end; `done` when it is durable. */
  readonly publish: (fact: OtpFact, done: () => void) => void;
};

type Waiting = {
  readonly id: OtpId;
  readonly owner: { readonly accountId: string; readonly livemode: boolean };
  /** In the bucket `otp`. */
  readonly key: string;
  readonly endsAtMs: number;
  /** The last record that said it is pending. */
  seq: number;
};

const bounds = limits.facts;

export class OtpEnds {
  readonly #parts: OtpEndsParts;
  readonly #numbers: LatestRecords;
  readonly #waiting = new Map<OtpId, Waiting>();
  /** Those whose end was published lately: their records still say that they are pending. */
  #ended: RotatingMap<OtpId, true>;
  readonly #due = new MinHeap<Waiting>((one, other) => one.endsAtMs < other.endsAtMs);
  readonly #stopping = new AbortController();
  readonly #stopTick: () => void;
  #running = 0;
  #awayUntilMs = 0;

  constructor(parts: OtpEndsParts) {
    this.#parts = parts;
    this.#ended = recently(parts.clock);
    this.#numbers = new LatestRecords(parts.bus, 'otp', limits.otp, parts.clock);
    this.#stopTick = parts.clock.every(bounds.endEveryMs, () => this.#endThoseDue());
  }

  get isFull(): boolean {
    return this.#waiting.size >= bounds.waitingMax;
  }

  /** What a record says of one OTP. */
  note({ id, status, accountId, livemode, expiresAtMs }: OtpFact, key: string, seq: number): void {
    const known = this.#waiting.get(id);
    if (status !== 'pending') {
      this.#waiting.delete(id);
    } else if (known === undefined) {
      if (this.#ended.get(id) === true) return;
      const waiting = { id, owner: { accountId, livemode }, key, endsAtMs: expiresAtMs, seq };
      this.#waiting.set(id, waiting);
      this.#due.add(waiting);
    } else {
      known.seq = seq;
    }
  }

  /** From which record on it must be read again after a restart, and up to which time every end was published. */
  get place(): { readonly fromSeq: number; readonly endedToMs: number } {
    let fromSeq = Number.POSITIVE_INFINITY;
    let endedToMs = this.#parts.clock.nowMs() - bounds.graceMs;
    for (const { seq, endsAtMs } of this.#waiting.values()) {
      fromSeq = Math.min(fromSeq, seq);
      endedToMs = Math.min(endedToMs, endsAtMs);
    }
    return { fromSeq, endedToMs };
  }

  forget(): void {
    this.#waiting.clear();
    this.#ended = recently(this.#parts.clock);
  }

  stop(): void {
    this.#stopTick();
    this.#stopping.abort(new Error('the events of one-time passwords stop'));
  }

  #endThoseDue(): void {
    const dueMs = this.#parts.clock.nowMs() - bounds.graceMs;
    while (this.#running < bounds.endsAtOnce) {
      const first = this.#due.first;
      if (first === undefined || first.endsAtMs > dueMs) return;
      this.#due.removeFirst();
      if (this.#waiting.get(first.id) === first) void this.#end(first);
    }
  }

  async #end(waiting: Waiting): Promise<void> {
    this.#running += 1;
    const { signal: stopping } = this.#stopping;
    const fact = await untilDone(
      () => this.#endOf(waiting),
      (error) => log.warn({ error }, 'the end of a one-time password could not be determined, trying again'),
      { everyMs: bounds.retryMs, stopping, clock: this.#parts.clock },
    );
    this.#running -= 1;
    if (fact !== null) this.#parts.publish(fact, () => this.#hasEnded(waiting.id));
    // It ended otherwise: the reader of its record publishes that. When this process stops, the next one publishes it.
    else if (!stopping.aborted) this.#waiting.delete(waiting.id);
  }

  #hasEnded(id: OtpId): void {
    this.#waiting.delete(id);
    this.#ended.set(id, true);
  }

  async #endOf({ id, owner, key }: Waiting): Promise<OtpFact | null> {
    const stored = await this.#numbers.leader(key);
    if (stored === null) return null;
    const facts = otpFactsOf(decodeOtpNumber(stored.octets).number, owner, stored.revision);
    const fact = facts.find((each) => each.id === id);
    if (fact?.status !== 'pending') return null;
    return endOfTime(fact, isUndelivered(await this.#statusesOf(fact)));
  }

  /** Null for what is not known. */
  async #statusesOf({ accountId, messageIds }: OtpFact): Promise<readonly (string | null)[]> {
    return Promise.all(messageIds.map((messageId) => this.#statusOf(accountId, messageId)));
  }

  async #statusOf(accountId: string, messageId: MessageId): Promise<string | null> {
    const { bus, clock } = this.#parts;
    if (clock.monotonicMs() < this.#awayUntilMs) return null;
    const query = { accountId, messageId, upToDate: true };
    const reply = await queryEventStore<GetMessageReply>(bus, querySubjects.get, query);
    if (reply.result === 'unavailable') this.#awayUntilMs = clock.monotonicMs() + bounds.awayMs;
    return reply.result === 'found' ? reply.message.status : null;
  }
}

const recently = (clock: Clock) => new RotatingMap<OtpId, true>(bounds.publishedMs, bounds.publishedMax, clock);
