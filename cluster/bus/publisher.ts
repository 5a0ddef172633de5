// Publishes to JetStream and reports when a record is durable. It bounds the publishes in flight per stream, so that a
// stream without a leader takes no capacity from others; repeats a publish with the same Nats-Msg-Id when no answer
// came (the stream drops the copy); and repeats everything in flight after a reconnect. The client's own js.publish
// spends a promise, a timer and an inbox token per call; this costs a third of the CPU, which limits the rate of the
// ingress (bench: publish).
import { type Msg, type MsgHdrs, type NatsConnection, headers } from '@nats-io/transport-node';
import { unreachable } from '../../platform/assert.ts';
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import { TokenRing } from '../../platform/token-ring.ts';
import { asRepublished } from './republished.ts';
import type { Bus } from './connect.ts';
import { type PublishRefusal, readPublishAnswer } from './publish-answer.ts';
import { deadFilter } from './subjects.ts';

/**
 * Why a record is not durable.
 * - `busy`: too many publishes to this stream are in flight here.
 * - `too_large`: above the server's limit; never sent.
 * - `full`, `subject_full`: the stream, or this account shard, is at its bound.
 * - `unavailable`: no answer in time. The record may be stored: repeat it under the same id.
 * - `conflict`: another last sequence than expected; after an unanswered try that may be this publish.
 * - `closed`: this process is stopping.
 */
export type PublishFailure = PublishRefusal | 'busy' | 'too_large' | 'unavailable' | 'closed';
export type PublishResult =
  | { readonly ok: true; readonly seq: number; readonly duplicate: boolean }
  | { readonly ok: false; readonly failure: PublishFailure };
export type PublishDone = (result: PublishResult) => void;

type PublisherOptions = {
  /** Publishes in flight to one stream. */
  readonly inFlightMax?: number;
  /** How long one try waits for its ack. */
  readonly timeoutMs?: number;
  /** When to give up; Infinity for what must not be lost while this process runs. */
  readonly deadlineMs?: number;
  /**
   * How long a record may wait so that several go out in one write; 0: not at all. A socket write costs as much as
   * encoding a record, here and again in the server (bench: throughput).
   */
  readonly gatherMs?: number;
  readonly clock?: Clock;
};

/** The publishes in flight to one stream. */
type StreamFlight = { readonly stream: string; count: number };

type Pending = {
  readonly flight: StreamFlight;
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly firstSentAtMs: number;
  headers: MsgHdrs | undefined;
  /** Upper bound of payload and headers, as the server counts them. */
  readonly octets: number;
  readonly giveUpAtMs: number;
  readonly done: PublishDone;
  retryAtMs: number;
};

const sweepEveryMs = 50;
/** A full batch is written before its time. */
const gatheredMax = 64;
/**
 * Delay before a publish that no stream answered is repeated: short enough for an OTP, and rare for a starting server.
 */
const retryAfterRefusalMs = 100;
/**
 * A message record repeated this late may be stored twice, because the stream has forgotten the id of an earlier try or
 * of another node's copy: it is marked (republished.ts).
 */
const markedAfterMs = limits.bus.duplicateWindowMs / 2;
const isMessageRecord = (subject: string) => /^(mt|later|holds|scheduled)\./.test(subject);

export class Publisher {
  readonly #connection: NatsConnection;
  readonly #clock: Clock;
  readonly #inFlightMax: number;
  readonly #timeoutMs: number;
  readonly #deadlineMs: number;
  readonly #gatherMs: number;
  readonly #inbox: string;
  readonly #pending = new TokenRing<Pending>();
  readonly #flights = new Map<string, StreamFlight>();
  /** Tokens of the records in the next write. */
  #gathered: number[] = [];
  #cancelGather: Cancel | null = null;
  /** Null while nothing is in flight: most publishers of most processes rest most of the time. */
  #stopSweep: Cancel | null = null;
  readonly #stopReconnects: Cancel;
  readonly #unsubscribe: () => void;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(bus: Bus, options: PublisherOptions = {}) {
    const defaultDeadlineMs = limits.bus.publishTimeoutMs * limits.bus.publishAttemptsMax;
    this.#connection = bus.connection;
    this.#clock = options.clock ?? systemClock;
    this.#inFlightMax = options.inFlightMax ?? limits.bus.publishesInFlightMax;
    this.#timeoutMs = options.timeoutMs ?? limits.bus.publishTimeoutMs;
    this.#deadlineMs = options.deadlineMs ?? defaultDeadlineMs;
    this.#gatherMs = options.gatherMs ?? 0;
    this.#inbox = `${bus.newInbox()}.`;
    const subscription = bus.connection.subscribe(`${this.#inbox}*`, {
      callback: (_error, msg) => this.#onAnswer(msg),
    });
    this.#unsubscribe = () => subscription.unsubscribe();
    this.#stopReconnects = bus.onReconnect(() => this.#sendAllAgain());
  }

  get inFlight(): number {
    return this.#pending.size;
  }

  /** Whether one more publish to the stream of this subject may be in flight. */
  hasCapacity(subject: string): boolean {
    return this.#flightOf(subject).count < this.#inFlightMax;
  }

  /**
   * Publishes one record. Calls `done` exactly once, before returning only with `busy`, `too_large` or `closed`. `id`
   * becomes Nats-Msg-Id; `extra` are further headers.
   * ```ts
   * publisher.publish(subject, encodeMessage(message, cipher), messageRecordId(message), (result) => {
   *   if (!result.ok) return refuse(result.failure);
   * });
   * ```
   */
  publish(
    subject: string,
    payload: Uint8Array,
    id: string | null,
    done: PublishDone,
    extra?: Record<string, string>,
  ): void {
    if (this.#closed) return done({ ok: false, failure: 'closed' });
    const flight = this.#flightOf(subject);
    const octets = payload.length + headerOctets(id, extra) + (isMessageRecord(subject) ? markOctets : 0);
    if (octets > this.#octetsMax(subject)) {
      metrics.busPublishFailures.inc({ stream: flight.stream, reason: 'too_large' });
      return done({ ok: false, failure: 'too_large' });
    }
    if (flight.count >= this.#inFlightMax) return done({ ok: false, failure: 'busy' });
    const now = this.#clock.monotonicMs();
    const pending: Pending = {
      flight,
      subject,
      payload,
      firstSentAtMs: now,
      headers: headersOf(id, extra),
      octets,
      giveUpAtMs: now + this.#deadlineMs,
      done,
      retryAtMs: now + this.#timeoutMs,
    };
    flight.count += 1;
    const token = this.#pending.add(pending);
    this.#stopSweep ??= this.#clock.every(sweepEveryMs, () => this.#sweep());
    if (this.#gatherMs === 0) return this.#write(token, pending);
    this.#gathered.push(token);
    if (this.#gathered.length >= gatheredMax) return this.flush();
    this.#cancelGather ??= this.#clock.after(this.#gatherMs, () => this.flush());
  }

  /** Writes the gathered records now. */
  flush(): void {
    this.#cancelGather?.();
    this.#cancelGather = null;
    const tokens = this.#gathered;
    this.#gathered = [];
    const now = this.#clock.monotonicMs();
    for (const token of tokens) {
      const pending = this.#pending.get(token);
      if (pending === undefined) continue;
      // A process that stood still: another one may have published it, so long ago that the stream has forgotten the id.
      if (pending.giveUpAtMs <= now) this.#finish(token, { ok: false, failure: 'unavailable' });
      else this.#write(token, pending);
    }
  }

  /** `publish` as a promise, for code that runs a few times a second. */
  publishOne(
    subject: string,
    payload: Uint8Array,
    id: string | null,
    extra?: Record<string, string>,
  ): Promise<PublishResult> {
    return new Promise((resolve) => this.publish(subject, payload, id, resolve, extra));
  }

  /** Resolves when nothing is in flight. New publishes are still accepted. */
  idle(): Promise<void> {
    if (this.#pending.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Ends every publish in flight with `closed`. Wait for idle() first if they matter. */
  close(): void {
    this.#closed = true;
    this.#rest();
    this.#stopReconnects();
    this.#cancelGather?.();
    if (!this.#connection.isClosed()) this.#unsubscribe();
    for (const [token] of this.#pending.entries()) this.#finish(token, { ok: false, failure: 'closed' });
  }

  #flightOf(subject: string): StreamFlight {
    const stream = streamOf(subject);
    const known = this.#flights.get(stream);
    if (known !== undefined) return known;
    const flight = { stream, count: 0 };
    this.#flights.set(stream, flight);
    return flight;
  }

  /** The limit for a record with its headers. Every stored record must fit into DEAD with the headers added there. */
  #octetsMax(subject: string): number {
    const most = this.#connection.info?.max_payload ?? limits.bus.payloadBytesMaxUsual;
    return subject.startsWith(deadPrefix) ? most : most - limits.bus.deadHeaderBytesMax;
  }

  /** Never throws: it runs in timers, where nothing would catch it. */
  #write(token: number, pending: Pending): void {
    if (this.#connection.isClosed()) return; // the sweep gives it up at its deadline
    const reply = this.#inbox + token.toString(36);
    try {
      this.#connection.publish(
        pending.subject,
        pending.payload,
        pending.headers === undefined ? { reply } : { reply, headers: pending.headers },
      );
    } catch (error) {
      // The connection is closing, or leads to a server with a lower limit. Retried until the deadline; the sweep ends
      // what no longer fits.
      log.warn({ subject: pending.subject, error: messageOf(error) }, 'a record could not be sent');
    }
  }

  #onAnswer(msg: Msg): void {
    const token = Number.parseInt(msg.subject.slice(this.#inbox.length), 36);
    const pending = this.#pending.get(token);
    if (pending === undefined) return; // an earlier try was answered
    const answer = readPublishAnswer(msg.data);
    switch (answer.kind) {
      case 'stored':
        metrics.busPublishes.inc({ stream: answer.stream });
        return this.#finish(token, { ok: true, seq: answer.seq, duplicate: answer.duplicate });
      case 'refused':
        return this.#finish(token, { ok: false, failure: answer.failure });
      case 'not_durable':
        pending.retryAtMs = this.#clock.monotonicMs() + retryAfterRefusalMs;
        return;
      default:
        return unreachable(answer);
    }
  }

  #finish(token: number, result: PublishResult): void {
    const pending = this.#pending.get(token);
    if (pending === undefined) return;
    this.#pending.delete(token);
    pending.flight.count -= 1;
    if (!result.ok) metrics.busPublishFailures.inc({ stream: pending.flight.stream, reason: result.failure });
    pending.done(result);
    if (this.#pending.size > 0 || this.#idle.length === 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  #sweep(): void {
    const now = this.#clock.monotonicMs();
    for (const [token, pending] of this.#pending.entries()) {
      if (pending.giveUpAtMs <= now) this.#finish(token, { ok: false, failure: 'unavailable' });
      else if (pending.retryAtMs <= now) this.#sendAgain(token, pending, now);
    }
    if (this.#pending.size === 0) this.#rest();
  }

  #rest(): void {
    this.#stopSweep?.();
    this.#stopSweep = null;
  }

  #sendAllAgain(): void {
    const now = this.#clock.monotonicMs();
    for (const [token, pending] of this.#pending.entries()) this.#sendAgain(token, pending, now);
  }

  #sendAgain(token: number, pending: Pending, now: number): void {
    // While disconnected the client would only buffer it, and a reconnect repeats everything.
    if (this.#connection.isClosed()) return;
    if (pending.octets > this.#octetsMax(pending.subject))
      return this.#finish(token, { ok: false, failure: 'too_large' });
    metrics.busPublishRetries.inc({ stream: pending.flight.stream });
    if (now - pending.firstSentAtMs >= markedAfterMs && isMessageRecord(pending.subject))
      pending.headers = marked(pending);
    pending.retryAtMs = now + this.#timeoutMs;
    this.#pending.delete(token);
    this.#write(this.#pending.add(pending), pending);
  }
}

const deadPrefix = deadFilter.slice(0, -1);

/** Upper bound of the headers: a character has at most three octets in UTF-8. */
function headerOctets(id: string | null, extra: Record<string, string> | undefined): number {
  let octets = headerFrame + (id === null ? 0 : headerLine + id.length * 3);
  if (extra === undefined) return octets;
  for (const name in extra) octets += headerLine + name.length + (extra[name] ?? '').length * 3;
  return octets;
}
/** The octets that the mark of a late repeat adds. */
const markOctets = Object.entries(asRepublished).reduce(
  (sum, [name, value]) => sum + name.length + value.length + 4,
  0,
);
/** `NATS/1.0` with its line end, and the empty line. */
const headerFrame = 12;
/** `Nats-Msg-Id`, a colon, a blank and a line end: an upper bound for every header line without name and value. */
const headerLine = 15;

function headersOf(id: string | null, extra: Record<string, string> | undefined): MsgHdrs | undefined {
  if (id === null && extra === undefined) return undefined;
  const all = headers();
  if (id !== null) all.set('Nats-Msg-Id', id);
  if (extra !== undefined) for (const [name, value] of Object.entries(extra)) all.set(name, value);
  return all;
}

function marked({ headers: before }: Pending): MsgHdrs {
  const all = before ?? headers();
  for (const [name, value] of Object.entries(asRepublished)) all.set(name, value);
  return all;
}

/** The stream of a subject from subjects.ts, as a name for counting. */
export function streamOf(subject: string): string {
  const end = subject.indexOf('.');
  const first = end < 0 ? subject : subject.slice(0, end);
  if (first !== 'mt' && first !== '$KV') return first.toUpperCase();
  const next = subject.indexOf('.', end + 1);
  const second = next < 0 ? subject.slice(end + 1) : subject.slice(end + 1, next);
  return first === 'mt' ? `MT_${second.toUpperCase()}` : `KV_${second}`;
}
