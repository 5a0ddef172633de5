// Makes repeated requests safe: one message per key, whichever process dies. The first request writes an entry with a
// lease and the time that its message id is derived from, does the work, and stores what its answer is rebuilt from;
// repeats find the entry. Repeats in the same thread wait for the first; in other threads they are refused until it is
// done. When the lease has ended, a repeat takes the entry over with the same message id. The key is looked up before
// the gates run and claimed after them: a request that a gate refuses stores nothing.
import { type AccountId, type MessageId, derivedMessageId } from '../../model/ids.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { type AcceptanceRefusal, refusal } from '../refusal.ts';
import type { BodyPrints, KeyPlace } from './key-place.ts';
import type { IdempotencyEntry } from './entry.ts';
import type { FoundEntry, IdempotencyStore, Spot } from './store.ts';

/** The right to work under a key, until its lease ends. */
export type Claim = {
  readonly messageId: MessageId;
  readonly createdAtMs: number;
  /** An earlier owner may have published the message. */
  readonly mayBePublished: boolean;
};

export type Outcome<R = never> =
  | { readonly ok: true; readonly body: string; readonly replayed: boolean }
  | { readonly ok: false; readonly refusal: R | AcceptanceRefusal };

/** What is stored under the key: the answer for this request, or the entry that its claim replaces (null: none). */
export type LookUp = { readonly outcome: Outcome } | { readonly found: FoundEntry | null };

/**
 * The result of the work: the body of the 2xx and what to store of it, or a refusal. `isPublished` 'no' frees the key
 * at once; after 'unknown' the lease must end first, so that the next try asks whether the message exists.
 */
export type WorkResult<R> =
  | { readonly body: string; readonly kept: Buffer }
  | { readonly refusal: R; readonly isPublished: 'no' | 'unknown' }
  /** Done in part: answered but not stored, so that a repeat with the same key does the rest. */
  | { readonly partial: string };
export type Work<R> = (claim: Claim) => Promise<WorkResult<R>>;

export type KeyedRequest = {
  readonly place: KeyPlace;
  readonly bodyPrints: BodyPrints;
  readonly accountId: AccountId;
  readonly livemode: boolean;
  readonly idempotencyKey: string;
  /** Rebuilds the body of the answer from what was kept of it. */
  readonly answerOf: (kept: Buffer, createdAtMs: number, messageId: MessageId) => string | Promise<string>;
  /** How much the account may still store. */
  readonly quota: KeyQuota;
};

/** How much an account may still store under idempotency keys, in units of one key with a short answer. */
export type KeyQuota = { refuse(): AcceptanceRefusal | null; use(units: number): void };

type Running<R> = { readonly bodyPrint: Buffer; readonly outcome: Promise<Outcome<R>> };
type Held = Claim & { readonly at: Spot };
type Claimed = { readonly held: Held } | { readonly outcome: Outcome };

const claimTriesMax = 4;

/** `R`: the refusals of its work, beside those of acceptance. */
export class IdempotentRequests<R extends { readonly code: string } = AcceptanceRefusal> {
  readonly #store: IdempotencyStore;
  readonly #clock: Clock;
  readonly #running = new Map<string, Running<R>>();
  #waiting = 0;

  constructor(store: IdempotencyStore, clock: Clock = systemClock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Reads what is stored for this request before anything is decided. Writes nothing; `run` takes what was found and
   * goes on only if it has not changed.
   */
  async lookUp(request: KeyedRequest): Promise<LookUp> {
    // The first request is running in this thread: `run` waits for it.
    if (this.#running.has(request.place.hash)) return { found: null };
    try {
      const found = await this.#store.read(request.place);
      const outcome = found === null ? null : await this.#outcomeOf(request, found.entry);
      return outcome === null ? { found } : { outcome: counted(outcome) };
    } catch (error) {
      ignoring(error, 'an idempotency key could not be read, the client tries again');
      return { outcome: counted(unreachableBus) };
    }
  }

  /** `found`: the result of a recent look-up; without it the key is looked up here. */
  async run(request: KeyedRequest, work: Work<R>, found?: FoundEntry | null): Promise<Outcome<R>> {
    const name = request.place.hash;
    const running = this.#running.get(name);
    if (running !== undefined) return this.#wait(request, running);
    const outcome = this.#lead(request, work, found);
    this.#running.set(name, { bodyPrint: request.bodyPrints[0], outcome });
    try {
      return counted(await outcome);
    } finally {
      this.#running.delete(name);
    }
  }

  async #wait(request: KeyedRequest, running: Running<R>): Promise<Outcome<R>> {
    if (!running.bodyPrint.equals(request.bodyPrints[0])) return counted(reused);
    if (this.#waiting >= limits.http.idempotencyWaitersMax) return counted(inProgress);
    this.#waiting += 1;
    try {
      const outcome = await running.outcome;
      return counted(outcome.ok ? { ...outcome, replayed: true } : outcome);
    } finally {
      this.#waiting -= 1;
    }
  }

  async #lead(request: KeyedRequest, work: Work<R>, found: FoundEntry | null | undefined): Promise<Outcome<R>> {
    const claimed = await this.#claim(request, found);
    if ('outcome' in claimed) return claimed.outcome;
    const { held } = claimed;
    const result = await work(held);
    // The lease ends now, but the entry stays, so that the next try keeps the message id.
    const free = () => ({ ...this.#runningEntry(request, held), leaseUntilMs: this.#clock.nowMs() });
    if ('partial' in result) {
      await this.#giveUp(request, held, free);
      return { ok: true, body: result.partial, replayed: false };
    }
    if ('refusal' in result) {
      if (result.isPublished === 'no') await this.#giveUp(request, held, held.mayBePublished ? free : () => null);
      return { ok: false, refusal: result.refusal };
    }
    await this.#complete(request, held, result.kept);
    return { ok: true, body: result.body, replayed: false };
  }

  async #claim(request: KeyedRequest, looked: FoundEntry | null | undefined): Promise<Claimed> {
    try {
      const noMore = request.quota.refuse();
      let found = looked === undefined ? await this.#store.read(request.place) : looked;
      const fresh = claimFrom(request, this.#clock.nowMs(), false);
      // A repeat of a stored key uses up no quota.
      if (noMore !== null && found === null) return { outcome: { ok: false, refusal: noMore } };
      for (let tries = 0; tries < claimTriesMax; tries += 1) {
        const outcome = found === null ? null : await this.#outcomeOf(request, found.entry);
        if (outcome !== null) return { outcome };
        const claim = found === null ? fresh : claimFrom(request, found.entry.createdAtMs, true);
        const next = () => this.#runningEntry(request, claim);
        const written =
          found === null
            ? await this.#store.add(request.place, next)
            : await this.#store.change(request.place, found, next);
        if (written.ok) {
          if (found === null) request.quota.use(1);
          return { held: { ...claim, at: written.at } };
        }
        if (written.failure !== 'conflict') return { outcome: unreachableBus };
        found = written.found;
      }
    } catch (error) {
      ignoring(error, 'an idempotency key could not be read, the client tries again');
      return { outcome: unreachableBus };
    }
    return { outcome: inProgress };
  }

  /** The answer to a request that finds this entry; null: the request takes the entry over. */
  async #outcomeOf(request: KeyedRequest, entry: IdempotencyEntry): Promise<Outcome | null> {
    const asking = {
      isSameBody: isSameBody(request, entry),
      nowMs: this.#clock.nowMs(),
      leaseMs: limits.idempotency.leaseMs,
    };
    switch (decideIdempotent(entry, asking)) {
      case 'replay': {
        const body = await this.#answerOf(request, entry);
        return body === null ? unreachableBus : { ok: true, body, replayed: true };
      }
      case 'reused':
        return reused;
      case 'in_progress':
        return inProgress;
      case 'takeover':
        return null;
    }
  }

  async #answerOf(request: KeyedRequest, entry: IdempotencyEntry): Promise<string | null> {
    if (entry.state !== 'done') return null;
    const kept = entry.answer === 'apart' ? await this.#store.readAnswer(request.place) : entry.answer;
    const { createdAtMs } = entry;
    return kept === null ? null : request.answerOf(kept, createdAtMs, claimFrom(request, createdAtMs, true).messageId);
  }

  /** Stores the answer and waits. If that fails, a repeat finds the message by its id (accepted-before.ts). */
  async #complete(request: KeyedRequest, held: Held, kept: Buffer): Promise<void> {
    try {
      const isApart = kept.length > limits.idempotency.answerOctetsOnPage;
      if (isApart) {
        request.quota.use(Math.ceil(kept.length / limits.idempotency.octetsPerKey));
        if (!(await this.#store.keepAnswer(request.place, kept))) throw new Error('no room for the answer');
      }
      const { bodyPrint, createdAtMs } = this.#runningEntry(request, held);
      const entry = { bodyPrint, createdAtMs, state: 'done', answer: isApart ? 'apart' : kept } as const;
      const written = await this.#store.change(request.place, held.at, () => entry);
      if (!written.ok) throw new Error(written.failure);
    } catch (error) {
      ignoring(error, 'the answer under an idempotency key was not stored');
    }
  }

  /** Frees the key for the next try, before this one is answered. */
  async #giveUp(request: KeyedRequest, held: Held, next: () => IdempotencyEntry | null): Promise<void> {
    try {
      const written = await this.#store.change(request.place, held.at, next);
      if (!written.ok) throw new Error(written.failure);
    } catch (error) {
      ignoring(error, 'an idempotency key was not freed: its lease ends by itself');
    }
  }

  #runningEntry(request: KeyedRequest, { createdAtMs }: Claim): IdempotencyEntry & { readonly state: 'running' } {
    const leaseUntilMs = this.#clock.nowMs() + limits.idempotency.leaseMs;
    return { bodyPrint: request.bodyPrints[0], createdAtMs, state: 'running', leaseUntilMs };
  }
}

const isSameBody = ({ bodyPrints }: KeyedRequest, { bodyPrint }: IdempotencyEntry) =>
  bodyPrints.some((print) => print.equals(bodyPrint));

/** Derives the message id from the mode too: live and test keys are separate, so their ids must differ. */
function claimFrom(request: KeyedRequest, createdAtMs: number, mayBePublished: boolean): Claim {
  const seed = `${request.livemode ? 'live' : 'test'}:${request.idempotencyKey}`;
  return { messageId: derivedMessageId(request.accountId, seed, createdAtMs), createdAtMs, mayBePublished };
}

function counted<R extends { readonly code: string }>(outcome: Outcome<R>): Outcome<R> {
  metrics.idempotency.inc({ ended: outcome.ok ? (outcome.replayed ? 'replayed' : 'first') : outcome.refusal.code });
  return outcome;
}

const reused: Outcome = {
  ok: false,
  refusal: refusal(
    'idempotency_key_reused',
    'this Idempotency-Key was used for a request with another body: use a new key',
  ),
};
const inProgress: Outcome = {
  ok: false,
  refusal: refusal('idempotency_in_progress', 'the first request with this key is still running', 1),
};
const unreachableBus: Outcome = {
  ok: false,
  refusal: refusal('overloaded', 'the store of idempotency keys did not answer', 1),
};

type Decision =
  /** The first request succeeded: give the same answer. */
  | 'replay'
  /** The key was used for another body. */
  | 'reused'
  /** The first request is running and its lease has not ended. */
  | 'in_progress'
  /** The lease has ended: continue under the same message id. */
  | 'takeover';

/**
 * Decides what a request does when it finds an entry under its key. A takeover is a proposal: it holds only once the
 * bucket accepts it over the entry that was read.
 */
export function decideIdempotent(
  entry: IdempotencyEntry,
  asking: { readonly isSameBody: boolean; readonly nowMs: number; readonly leaseMs: number },
): Decision {
  if (!asking.isSameBody) return 'reused';
  if (entry.state === 'done') return 'replay';
  const leftMs = entry.leaseUntilMs - asking.nowMs;
  // More time left than a lease lasts: the clock was set back. Waiting would block the key for hours; taking over is
  // always safe, because the message id stays the same.
  return leftMs > 0 && leftMs <= asking.leaseMs ? 'in_progress' : 'takeover';
}
