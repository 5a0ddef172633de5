// Idempotency keys on management writes, by the rules of the hot routes: the same request gets the stored answer,
// another body is refused, a concurrent repeat waits or gets 409, and an account has one quota of keys. Answers are
// stored sealed and without secrets, such as a new API key's. A request whose process died runs again: unique names,
// not the idempotency key, then prevent a duplicate.
import { assert } from '../../platform/assert.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import type { IdempotentRequests, KeyedRequest } from '../../acceptance/idempotency/requests.ts';
import type { RateLimits } from '../../acceptance/principal-limits.ts';
import { type KeyParts, type KeyedWrite, keyedRequest } from '../http/write-request.ts';
import { type Problem, problem, problemOf } from '../problem.ts';
import type { HandlerResult } from './endpoint.ts';

type Keyed = KeyedWrite & {
  /** Method and path. */
  readonly operation: string;
  /** Secret fields: a repeat gets null for them. */
  readonly shownOnce: readonly string[];
};

export type IdempotentWrite = ReturnType<typeof createIdempotentWrite>;

type IdempotentWriteParts = KeyParts & {
  readonly requests: IdempotentRequests<Problem>;
  readonly cipher: BodyCipher;
  readonly rates: Pick<RateLimits, 'keyQuota'>;
};

export function createIdempotentWrite(parts: IdempotentWriteParts) {
  const { requests, cipher, rates } = parts;
  return async (
    { operation, shownOnce, ...write }: Keyed,
    work: () => Promise<HandlerResult>,
  ): Promise<HandlerResult & { readonly replayed?: boolean }> => {
    const keyed: KeyedRequest = keyedRequest({ ...parts, access: { rates } }, operation, write, (kept) =>
      cipher.open(kept, keyed.place.hash).toString('utf8'),
    );
    let thrown: { readonly error: unknown } | null = null;
    const outcome = await requests.run(keyed, async () => {
      try {
        const answer = await work();
        if ('problem' in answer) return { refusal: answer.problem, isPublished: 'no' };
        assert('body' in answer, 'only a read has an answer in parts');
        const kept = { ...(answer.body as object), ...Object.fromEntries(shownOnce.map((field) => [field, null])) };
        return {
          body: JSON.stringify(answer.body),
          kept: cipher.seal(Buffer.from(JSON.stringify(kept)), keyed.place.hash),
        };
      } catch (error) {
        thrown = { error };
        // Unknown whether the write happened: no repeat before the lease has ended.
        return { refusal: unknownOutcome, isPublished: 'unknown' };
      }
    });
    if (thrown !== null) throw (thrown as { readonly error: unknown }).error;
    if (!outcome.ok) return { problem: problemOf(outcome.refusal) };
    return { body: JSON.parse(outcome.body) as unknown, replayed: outcome.replayed };
  };
}

const unknownOutcome = problem(503, 'control_plane_unavailable', 'the change may or may not have been made', 10);
