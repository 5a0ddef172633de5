// The base of every hot write with a body: a list of steps, run from top to bottom, and the steps that all begin with
// (authentication and access, headers, body). A step goes on, refuses (a Problem), ends the request because it has
// answered it, or waits and continues later. Between steps nothing is allocated and no turn of the event loop passes, so
// all steps up to a waiting one can read the body, whose memory uWebSockets.js frees when the turn ends. Nothing here
// depends on the route.
import type { HttpRequest } from 'uWebSockets.js';
import type { BodyPrinter, KeyPlaces } from '../../acceptance/idempotency/key-place.ts';
import type { IdempotentRequests, KeyedRequest, Outcome } from '../../acceptance/idempotency/requests.ts';
import type { FoundEntry } from '../../acceptance/idempotency/store.ts';
import type { Principal } from '../../acceptance/principal.ts';
import type { RateLimits } from '../../acceptance/principal-limits.ts';
import type { AcceptanceRefusal } from '../../acceptance/refusal.ts';
import type { Account } from '../../directory/contract.ts';
import type { MessageId } from '../../model/ids.ts';
import { assert } from '../../platform/assert.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Use } from '../../platform/shared-bound.ts';
import { metrics } from '../../platform/telemetry.ts';
import { refuseIdempotencyKey, refuseMediaType } from '../request-headers.ts';
import { type Problem, problemOf } from '../problem.ts';
import { type AccessParts, admitCaller, holdAtWork } from './access.ts';
import { idOfAutomaticKey, readAutomaticKey } from './automatic-key.ts';
import type { Exchange, AnswerThrown } from './exchange.ts';
import { readBody } from './read-body.ts';

/** What finds and compares requests with an idempotency key. */
export type KeyParts = { readonly keyPlaces: KeyPlaces; readonly bodyPrints: BodyPrinter };
export type WriteParts = KeyParts & {
  readonly access: AccessParts;
  readonly clock: Clock;
  readonly answerThrown: AnswerThrown;
  readonly idempotent: IdempotentRequests<AcceptanceRefusal | Problem>;
};

/** null: go on · 'answered': the request is over · 'waits': the step calls `proceed` to go on. */
export type StepResult = Problem | null | 'answered' | 'waits';
export type Step<R> = (request: R) => StepResult | Promise<StepResult>;

/**
 * ```ts
 * const steps: readonly Step<Ping>[] = [authenticate, answerPong];
 * class Ping extends WriteRequest { readonly steps = steps; … }
 * new Ping(parts, exchange, req).proceed();
 * ```
 */
export abstract class WriteRequest<Parts extends WriteParts = WriteParts> {
  /** `Step<this>` would exclude steps that several classes share. */
  abstract readonly steps: readonly Step<never>[];
  readonly parts: Parts;
  readonly exchange: Exchange;
  /** The share of its account's slots that it uses. */
  abstract readonly use: Use;
  /** Valid only until the first wait: then uWebSockets.js reuses it. */
  readonly req: HttpRequest;
  contentLength = '';
  /** Empty when the client sent none. */
  idempotencyKey = '';
  /** With the client's own idempotency key: the keyed request, and the entry that the look-up found. */
  keyed: KeyedRequest | null = null;
  entry: FoundEntry | null = null;
  /** The message id derived from an automatic key; null: a new id. */
  automaticId: MessageId | null = null;
  #principal: Principal | null = null;
  #body: Buffer | null = null;
  #next = 0;

  constructor(parts: Parts, exchange: Exchange, req: HttpRequest) {
    this.parts = parts;
    this.exchange = exchange;
    this.req = req;
  }

  /** Runs the remaining steps. What a step throws is answered. */
  proceed(): void {
    this.parts.answerThrown(this.exchange, () => this.#run());
  }

  proceedWith(body: Buffer): void {
    this.#body = body;
    this.proceed();
    this.#body = null;
  }

  refuse(problem: Problem): void {
    refuseWith(this.exchange, problem);
  }

  get principal(): Principal {
    return found(this.#principal);
  }

  set principal(principal: Principal) {
    this.#principal = principal;
  }

  /** Valid only in the turn of the event loop in which it arrived: uWebSockets.js frees its memory. */
  get body(): Buffer {
    return found(this.#body);
  }

  #run(): void | Promise<void> {
    for (;;) {
      const step = this.steps[this.#next] as Step<this> | undefined;
      if (step === undefined) return;
      this.#next += 1;
      const result = step(this);
      if (result instanceof Promise) return this.#runAfter(result);
      if (this.#isOver(result)) return;
    }
  }

  async #runAfter(waiting: Promise<StepResult>): Promise<void> {
    if (!this.#isOver(await waiting)) await this.#run();
  }

  #isOver(result: StepResult): boolean {
    if (result === null) return false;
    if (typeof result !== 'string') this.refuse(result);
    return true;
  }
}

/** The value that an earlier step has set. */
export function found<T>(value: T | null): T {
  assert(value !== null, 'a step runs after the steps it depends on');
  return value;
}

export function refuseWith(exchange: Exchange, refusal: Problem): void {
  metrics.refused.inc({ code: refusal.code });
  exchange.refuse(refusal);
}

export function authenticate(request: WriteRequest): StepResult {
  const authenticated = admitCaller(request.parts.access, request.exchange, request.req);
  if (!authenticated.ok) return authenticated.problem;
  request.principal = authenticated.principal;
  return null;
}

export function readHeaders(request: WriteRequest): StepResult {
  const { req, exchange } = request;
  const media = refuseMediaType(req.getHeader('content-type'), req.getHeader('content-encoding'));
  if (media !== null) return media;
  const key = readKey(exchange, req);
  if (typeof key !== 'string') return key;
  request.idempotencyKey = key;
  request.contentLength = req.getHeader('content-length');
  return null;
}

export function receiveBody(request: WriteRequest): StepResult {
  const { exchange, contentLength, parts, principal, use } = request;
  const sender = { account: principal.account.accountId, use };
  readBody(exchange, contentLength, parts.access.places.bodies, sender, (body) => request.proceedWith(body));
  return 'waits';
}

export function takeSlot({ parts, exchange, principal, use }: WriteRequest): StepResult {
  return holdAtWork(parts.access, exchange, principal, use);
}

/** The Idempotency-Key; empty without one. */
export function readKey({ headerCounts }: Exchange, req: HttpRequest): string | Problem {
  const key = req.getHeader('idempotency-key');
  return refuseIdempotencyKey(key, headerCounts.idempotencyKey) ?? key;
}

const replayedHeaders = [['idempotent-replayed', 'true']] as const;

type KeyedParts = KeyParts & { readonly access: { readonly rates: Pick<RateLimits, 'keyQuota'> } };
export type KeyedWrite = {
  readonly principal: Pick<Principal, 'livemode'> & {
    readonly account: Pick<Account, 'accountId' | 'idempotencyKeysPerHour'>;
  };
  readonly body: Uint8Array;
  readonly idempotencyKey: string;
};

/** The entry's place and the body's fingerprints. Reads the body: call it in the body's turn. */
export function keyedRequest(
  parts: KeyedParts,
  operation: string,
  { principal: { account, livemode }, body, idempotencyKey }: KeyedWrite,
  answerOf: KeyedRequest['answerOf'],
): KeyedRequest {
  const { accountId } = account;
  return {
    place: parts.keyPlaces(accountId, livemode, operation, idempotencyKey),
    bodyPrints: parts.bodyPrints(body),
    accountId,
    livemode,
    idempotencyKey,
    answerOf,
    quota: parts.access.rates.keyQuota(account),
  };
}

/**
 * 'automatic': the key has the form of an automatic one, and the message id is derived from it and `seed`. 'own': it is the
 * client's own, whose answer is kept.
 */
export function takeAutomaticKey(request: WriteRequest, seed: string): 'automatic' | 'own' | Problem {
  const { parts, principal, idempotencyKey } = request;
  const automatic = readAutomaticKey(idempotencyKey, parts.clock.nowMs());
  if (automatic === null) return 'own';
  if ('problem' in automatic) return automatic.problem;
  const { accountId } = principal.account;
  request.automaticId = idOfAutomaticKey(accountId, principal.livemode, { ...automatic, idempotencyKey: seed });
  return 'automatic';
}

/** Answers a repeat under the client's own key as the first request was answered. `answerOf` rebuilds the body. */
export async function answerFromEntry(
  request: WriteRequest,
  { operation, answerOf, status }: { operation: string; answerOf: KeyedRequest['answerOf']; status: number },
): Promise<StepResult> {
  // Reads the body, so before the first wait.
  const keyed = keyedRequest(request.parts, operation, request, answerOf);
  request.keyed = keyed;
  const looked = await request.parts.idempotent.lookUp(keyed);
  if ('outcome' in looked) return answerOutcome(request.exchange, looked.outcome, status);
  request.entry = looked.found;
  return null;
}

/** Answers with the final body of the request's key and this status, or returns the refusal. */
export function answerOutcome(
  exchange: Exchange,
  outcome: Outcome<AcceptanceRefusal | Problem>,
  status = 202,
): Problem | 'answered' {
  if (!outcome.ok) return problemOf(outcome.refusal);
  exchange.json(status, outcome.body, outcome.replayed ? replayedHeaders : []);
  return 'answered';
}
