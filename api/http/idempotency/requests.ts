// Makes a repeated request harmless: one message for one key, whatever dies in between. The first request writes
// a record with its message id and a lease, does the work, and writes the answer; repeats find the record. Within
// one thread repeats wait for the first; elsewhere they get 409 until it is done. A record whose owner is gone is
// taken over with the same message id. A refusal by a gate never comes here and so stores nothing.
import { type AccountId, type MessageId, derivedMessageId } from '../../../model/ids.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { secretBytes } from '../../../platform/random.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { type Problem, problem } from '../../problem.ts';
import { decideIdempotent } from './decide.ts';
import type { IdempotencyRecord } from './record.ts';
import type { IdempotencyStore } from './store.ts';

/** The right to work under a key, until the lease ends. */
export type Claim = {
  readonly messageId: MessageId;
  readonly createdAtMs: number;
  /** Somebody worked on it before and may have come as far as the publish. */
  readonly mayBePublished: boolean;
};

export type Outcome =
  | { readonly ok: true; readonly body: string; readonly replayed: boolean }
  | { readonly ok: false; readonly problem: Problem };

/**
 * What the work came to: the body of the 202, or a problem. `isPublished` 'no' gives the key free at once; after
 * 'unknown' the lease must end first, so that the next try asks whether the message exists.
 */
export type WorkResult =
  | string
  | { readonly problem: Problem; readonly isPublished: 'no' | 'unknown' }
  /** Done in part: answered and not stored, so that a repeat with the same key does the rest. */
  | { readonly partial: string };
export type Work = (claim: Claim) => Promise<WorkResult>;

export type KeyedRequest = {
  readonly recordKey: string;
  readonly bodyHash: string;
  readonly accountId: AccountId;
  readonly livemode: boolean;
  readonly idempotencyKey: string;
  /** What the account may still store; left out where nothing bounds it. */
  readonly quota?: { refuse(): Problem | null; use(): void };
};

type Held = Claim & { readonly owner: string; readonly revision: number };
type Claimed = { readonly kind: 'held'; readonly held: Held } | { readonly kind: 'outcome'; readonly outcome: Outcome };

const claimTriesMax = 4;
/** In place of the lease's end: its owner gave up before anything was published. */
const leaseGivenBack = 0;

export class IdempotentRequests {
  readonly #store: IdempotencyStore;
  readonly #clock: Clock;
  readonly #running = new Map<string, { readonly bodyHash: string; readonly outcome: Promise<Outcome> }>();
  readonly #thread = secretBytes(9).toString('base64url');
  #count = 0;
  #waiting = 0;

  constructor(store: IdempotencyStore, clock: Clock = systemClock) {
    this.#store = store;
    this.#clock = clock;
  }

  async run(request: KeyedRequest, work: Work): Promise<Outcome> {
    const running = this.#running.get(request.recordKey);
    if (running !== undefined) return this.#wait(request, running);
    const outcome = this.#lead(request, work);
    this.#running.set(request.recordKey, { bodyHash: request.bodyHash, outcome });
    try {
      return counted(await outcome);
    } finally {
      this.#running.delete(request.recordKey);
    }
  }

  /** The stored answer of the same request, if it ended well before. For a repeat that the gates now refuse. */
  async stored(request: KeyedRequest): Promise<string | null> {
    const found = await this.#store.read(request.recordKey);
    const isSame = found !== null && found.record.state === 'done' && found.record.bodyHash === request.bodyHash;
    return isSame ? found.record.answer : null;
  }

  async #wait(request: KeyedRequest, running: { bodyHash: string; outcome: Promise<Outcome> }): Promise<Outcome> {
    if (running.bodyHash !== request.bodyHash) return counted(reused);
    if (this.#waiting >= limits.http.idempotencyWaitersMax) return counted(inProgress);
    this.#waiting += 1;
    try {
      const outcome = await running.outcome;
      return counted(outcome.ok ? { ...outcome, replayed: true } : outcome);
    } finally {
      this.#waiting -= 1;
    }
  }

  async #lead(request: KeyedRequest, work: Work): Promise<Outcome> {
    const claimed = await this.#claim(request);
    if (claimed.kind === 'outcome') return claimed.outcome;
    const { held } = claimed;
    const result = await work(held);
    if (typeof result !== 'string' && 'partial' in result) {
      // Free at once, and yet not as if nothing had been published.
      this.#giveUp(request, held, this.#clock.nowMs());
      return { ok: true, body: result.partial, replayed: false };
    }
    if (typeof result !== 'string') {
      if (result.isPublished === 'no') this.#giveUp(request, held, leaseGivenBack);
      return { ok: false, problem: result.problem };
    }
    await this.#complete(request, held, result);
    return { ok: true, body: result, replayed: false };
  }

  async #claim(request: KeyedRequest): Promise<Claimed> {
    this.#count += 1;
    const owner = `${this.#thread}.${this.#count}`;
    const nowMs = this.#clock.nowMs();
    // Live and test share no key space, so they must not share a message id either.
    const seed = `${request.livemode ? 'live' : 'test'}:${request.idempotencyKey}`;
    const fresh: Claim = {
      messageId: derivedMessageId(request.accountId, seed, nowMs),
      createdAtMs: nowMs,
      mayBePublished: false,
    };
    try {
      const noMore = request.quota?.refuse() ?? null;
      // A key that is stored already costs nothing, whoever asks again.
      if (noMore !== null && (await this.#store.read(request.recordKey)) === null) {
        return { kind: 'outcome', outcome: { ok: false, problem: noMore } };
      }
      for (let tries = 0; tries < claimTriesMax; tries += 1) {
        const created = await this.#store.write(request.recordKey, this.#runningRecord(request, fresh, owner), 0);
        if (created.ok) request.quota?.use();
        if (created.ok) return { kind: 'held', held: { ...fresh, owner, revision: created.seq } };
        if (created.failure !== 'conflict') return { kind: 'outcome', outcome: unreachableBus };

        const found = await this.#store.read(request.recordKey);
        if (found === null) continue; // it expired in between
        const { record, revision } = found;
        const { bodyHash } = request;
        const leaseMs = limits.idempotency.leaseMs;
        switch (decideIdempotent(record, { bodyHash, owner, nowMs: this.#clock.nowMs(), leaseMs })) {
          case 'replay':
            return { kind: 'outcome', outcome: { ok: true, body: record.answer, replayed: true } };
          case 'reused':
            return { kind: 'outcome', outcome: reused };
          case 'in_progress':
            return { kind: 'outcome', outcome: inProgress };
          case 'mine':
            return { kind: 'held', held: { ...claimOf(record, fresh), owner, revision } };
          case 'takeover': {
            const claim = claimOf(record, fresh);
            const taken = await this.#store.write(
              request.recordKey,
              this.#runningRecord(request, claim, owner),
              revision,
            );
            if (taken.ok) return { kind: 'held', held: { ...claim, owner, revision: taken.seq } };
          }
        }
      }
    } catch (error) {
      ignoring(error, 'an idempotency record could not be read, the client tries again');
      return { kind: 'outcome', outcome: unreachableBus };
    }
    return { kind: 'outcome', outcome: inProgress };
  }

  /** Stores the answer and waits for it. When that fails the message is accepted all the same, and a repeat
   * finds it by its id (send-sms.ts asks before it publishes again). */
  async #complete(request: KeyedRequest, held: Held, answer: string): Promise<void> {
    const record = { ...this.#runningRecord(request, held, held.owner), state: 'done' as const, answer };
    const written = await this.#store.write(request.recordKey, record, held.revision);
    if (!written.ok) ignoring(new Error(written.failure), 'the answer under an idempotency key was not stored');
  }

  /** Gives the key free for the next try, which keeps the message id. Not waited for: the lease ends anyway. */
  #giveUp(request: KeyedRequest, held: Held, leaseUntilMs: number): void {
    const record = { ...this.#runningRecord(request, held, held.owner), leaseUntilMs };
    void this.#store.write(request.recordKey, record, held.revision).then((written) => {
      if (!written.ok) ignoring(new Error(written.failure), 'a lease on an idempotency key was left to end by itself');
    });
  }

  #runningRecord(request: KeyedRequest, claim: Claim, owner: string): IdempotencyRecord {
    return {
      bodyHash: request.bodyHash,
      messageId: claim.messageId,
      state: 'running',
      owner,
      leaseUntilMs: this.#clock.nowMs() + limits.idempotency.leaseMs,
      createdAtMs: claim.createdAtMs,
      answer: '',
    };
  }
}

function claimOf(record: IdempotencyRecord, fresh: Claim): Claim {
  const { messageId, createdAtMs } = record;
  const isOwn = messageId === fresh.messageId;
  return { messageId, createdAtMs, mayBePublished: !isOwn && record.leaseUntilMs !== leaseGivenBack };
}

function counted(outcome: Outcome): Outcome {
  metrics.idempotency.inc({ ended: outcome.ok ? (outcome.replayed ? 'replayed' : 'first') : outcome.problem.code });
  return outcome;
}

const reused: Outcome = {
  ok: false,
  problem: problem(422, 'idempotency_key_reused', 'this Idempotency-Key was used for a request with another body'),
};
const inProgress: Outcome = {
  ok: false,
  problem: problem(409, 'idempotency_in_progress', 'the first request with this key is still running', [], 1),
};
const unreachableBus: Outcome = {
  ok: false,
  problem: problem(503, 'overloaded', 'the store of idempotency keys did not answer', [], 1),
};
