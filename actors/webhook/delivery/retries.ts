// When single events are tried again that failed beside others of their endpoint. Their records are in WEBHOOK_LOG; here
// are the times of those of each endpoint that are due first. The others are read from the stream when they are due; after
// a start, all of them are. At most `retryReadsMax` are read at once, one for each endpoint.
import type { WebhookEndpointId } from '../../../model/ids.ts';
import type { Clock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { MinHeap } from '../../../platform/min-heap.ts';
import type { EndpointWorker } from './endpoint-worker.ts';
import type { EndpointKey } from './parked-counts.ts';
import type { ParkedLog, ParkedRecord } from './parked-log.ts';

type Retry = { readonly seq: number; readonly dueAtMs: number };

/** The retries of one endpoint. */
type Schedule = {
  readonly key: EndpointKey;
  due: MinHeap<Retry>;
  /** Those in `due`, and those that are being sent. */
  readonly known: Set<number>;
  /** Others are stored that are due then or later. */
  othersFromMs: number;
  /** What is stored after this place is to be read; null: all was read. */
  readSeq: number | null;
  isBusy: boolean;
};

type Parts = {
  readonly log: Pick<ParkedLog, 'nextRetry' | 'removeRetry'>;
  readonly clock: Clock;
  /** Null when the endpoint was deleted. */
  readonly workerOf: (key: EndpointKey) => EndpointWorker | null;
};

const { retriesPerEndpointMax, retryReadsMax } = limits.delivery;
const never = Number.POSITIVE_INFINITY;
const laterMs = 60_000;

export class Retries {
  readonly #parts: Parts;
  readonly #schedules = new Map<WebhookEndpointId, Schedule>();
  /** Those with something to do, in turn. */
  readonly #turn = new Set<Schedule>();
  #reads = 0;
  #isStopped = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The endpoint has some that were stored by another process. */
  found(key: EndpointKey): void {
    this.#scheduleOf(key).readSeq = 0;
  }

  /** It was stored now. */
  add(key: EndpointKey, retry: Retry): void {
    put(this.#scheduleOf(key), retry);
  }

  /** It was to be sent, and is tried later. */
  putBack(key: EndpointKey, seq: number): void {
    this.#scheduleOf(key).due.add({ seq, dueAtMs: this.#parts.clock.nowMs() + laterMs });
  }

  /** The event is not needed any more: it was delivered, given up, or stored elsewhere. */
  remove(key: EndpointKey, seq: number): void {
    // Until it is gone there it could be read again.
    void this.#parts.log.removeRetry(key, seq).finally(() => this.#schedules.get(key.endpointId)?.known.delete(seq));
  }

  /** The endpoint was deleted. */
  forget({ endpointId }: EndpointKey): void {
    this.#schedules.delete(endpointId);
  }

  /** Once a second: sends those that are due. */
  look(): void {
    const nowMs = this.#parts.clock.nowMs();
    for (const [endpointId, schedule] of this.#schedules) {
      if (hasWork(schedule, nowMs)) this.#turn.add(schedule);
      else if (isEmpty(schedule)) this.#schedules.delete(endpointId);
    }
    this.#work();
  }

  stop(): void {
    this.#isStopped = true;
  }

  #scheduleOf(key: EndpointKey): Schedule {
    const known = this.#schedules.get(key.endpointId);
    if (known !== undefined) return known;
    const nothing = { due: newHeap(), known: new Set<number>(), othersFromMs: never, readSeq: null };
    const schedule: Schedule = { key, ...nothing, isBusy: false };
    this.#schedules.set(key.endpointId, schedule);
    return schedule;
  }

  #work(): void {
    for (const schedule of this.#turn) {
      if (this.#isStopped || this.#reads >= retryReadsMax) return;
      this.#turn.delete(schedule);
      if (schedule.isBusy) continue;
      schedule.isBusy = true;
      this.#reads += 1;
      void this.#workOn(schedule)
        .catch((error: unknown) => {
          ignoring(error, 'events that are due again are read later');
          return false;
        })
        .then((goesOn) => {
          schedule.isBusy = false;
          this.#reads -= 1;
          if (goesOn && hasWork(schedule, this.#parts.clock.nowMs())) this.#turn.add(schedule);
          this.#work();
        });
    }
  }

  /** False: the rest at the next look. */
  async #workOn(schedule: Schedule): Promise<boolean> {
    const { key, due } = schedule;
    const worker = this.#parts.workerOf(key);
    if (worker === null) {
      this.forget(key);
      return false;
    }
    if (isToRead(schedule, this.#parts.clock.nowMs())) {
      await this.#read(schedule);
      return true;
    }
    const { first } = due;
    if (first === undefined || !worker.takesRetry) return false;
    due.removeFirst();
    let isTaken = false;
    try {
      isTaken = await this.#send(schedule, first.seq);
      return isTaken;
    } finally {
      if (!isTaken) this.putBack(key, first.seq);
    }
  }

  /** False: it is tried later. */
  async #send({ key, known }: Schedule, seq: number): Promise<boolean> {
    const found = await this.#parts.log.nextRetry(key, seq - 1);
    if (this.#isStopped) return true;
    if (found?.seq === seq) return this.#parts.workerOf(key)?.retry(seq, found.record) ?? true;
    known.delete(seq);
    return true;
  }

  /** One that is due is sent at once, if that can be now. */
  #found(schedule: Schedule, { seq, record }: ParkedRecord): void {
    const { known, key } = schedule;
    const isDue = record.dueAtMs <= this.#parts.clock.nowMs();
    if (isDue && !known.has(seq) && this.#parts.workerOf(key)?.retry(seq, record) === true) known.add(seq);
    else put(schedule, { seq, dueAtMs: record.dueAtMs });
  }

  /** Reads what is stored until enough are due. Of the others those that are due first stay known. */
  async #read(schedule: Schedule): Promise<void> {
    if (schedule.readSeq === null) schedule.othersFromMs = never;
    for (let readSeq = schedule.readSeq ?? 0; !this.#isStopped; ) {
      if (hasEnough(schedule, this.#parts.clock.nowMs())) return;
      const next = await this.#parts.log.nextRetry(schedule.key, readSeq);
      schedule.readSeq = next?.seq ?? null;
      if (next === null) return;
      readSeq = next.seq;
      this.#found(schedule, next);
    }
  }
}

const newHeap = () => new MinHeap<Retry>((one, other) => one.dueAtMs < other.dueAtMs);
const nextDueMs = ({ due }: Schedule) => due.first?.dueAtMs ?? never;

function put(schedule: Schedule, retry: Retry): void {
  const { known, due } = schedule;
  if (known.has(retry.seq) || retry.dueAtMs >= schedule.othersFromMs) return;
  known.add(retry.seq);
  due.add(retry);
  if (due.size > retriesPerEndpointMax) forgetLater(schedule);
}

/** The later half is read again when its time comes. */
function forgetLater(schedule: Schedule): void {
  const sorted = [...schedule.due.all()].toSorted((one, other) => one.dueAtMs - other.dueAtMs);
  schedule.due = newHeap();
  for (const [at, retry] of sorted.entries()) {
    if (at < retriesPerEndpointMax / 2) schedule.due.add(retry);
    else schedule.known.delete(retry.seq);
  }
  schedule.othersFromMs = sorted[retriesPerEndpointMax / 2]?.dueAtMs ?? never;
}

function hasEnough(schedule: Schedule, nowMs: number): boolean {
  return schedule.due.size >= retriesPerEndpointMax / 2 && nextDueMs(schedule) <= nowMs;
}

/** Something may be due that is not known, and nothing is that is known. */
function isToRead(schedule: Schedule, nowMs: number): boolean {
  const { readSeq, othersFromMs } = schedule;
  return nextDueMs(schedule) > nowMs && (readSeq !== null || othersFromMs <= nowMs);
}

function hasWork(schedule: Schedule, nowMs: number): boolean {
  return !schedule.isBusy && (nextDueMs(schedule) <= nowMs || isToRead(schedule, nowMs));
}

function isEmpty({ due, known, othersFromMs, readSeq, isBusy }: Schedule): boolean {
  return due.size === 0 && known.size === 0 && othersFromMs === never && readSeq === null && !isBusy;
}
