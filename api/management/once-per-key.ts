// Idempotency keys on management writes, by the rules of the hot door: the same request gets the stored answer, another
// body is refused, a second one at the same time waits or gets 409. Answers are stored sealed, because a new API key's
// secret is in one. A request whose process died is run again: unique names, and not the key, then tell it apart.
import type { Context } from 'hono';
import type { BodyCipher } from '../../cluster/bus/body-cipher.ts';
import type { AccountId } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';
import { bodyHashOf, recordKey } from '../http/idempotency/record.ts';
import type { IdempotentRequests } from '../http/idempotency/requests.ts';
import { type Problem, problemOfFields } from '../problem.ts';
import type { Answer } from './endpoint.ts';

export type Keyed = {
  readonly accountId: AccountId;
  readonly livemode: boolean;
  /** Method and path. */
  readonly operation: string;
  readonly idempotencyKey: string;
  readonly body: Uint8Array;
};

export type Once = {
  run(keyed: Keyed, work: () => Promise<Answer>): Promise<Answer & { readonly replayed?: boolean }>;
};

export function oncePerKey(requests: IdempotentRequests, cipher: BodyCipher): Once {
  return {
    async run({ accountId, livemode, operation, idempotencyKey, body }, work) {
      const key = recordKey(accountId, livemode, operation, idempotencyKey);
      let thrown: { readonly error: unknown } | null = null;
      const outcome = await requests.run(
        { recordKey: key, bodyHash: bodyHashOf(body), accountId, livemode, idempotencyKey },
        async () => {
          try {
            const answer = await work();
            if ('problem' in answer) return { problem: answer.problem, isPublished: 'no' };
            return cipher.seal(Buffer.from(JSON.stringify(answer.body)), key).toString('base64');
          } catch (error) {
            thrown = { error };
            // Whether it happened is not known: nobody repeats it before the lease has ended.
            return { problem: unknownOutcome, isPublished: 'unknown' };
          }
        },
      );
      if (thrown !== null) throw (thrown as { readonly error: unknown }).error;
      if (!outcome.ok) return { problem: outcome.problem };
      const text = cipher.open(Buffer.from(outcome.body, 'base64'), key).toString('utf8');
      return { body: JSON.parse(text) as unknown, replayed: outcome.replayed };
    },
  };
}

/** The request's key; empty when it has none. */
export function readIdempotencyKey(c: Context): { readonly key: string } | { readonly problem: Problem } {
  const key = c.req.header('idempotency-key');
  const { idempotencyKeyCharsMax } = limits.http;
  if (key === undefined) return { key: '' };
  if (key.length >= 1 && key.length <= idempotencyKeyCharsMax && printable.test(key)) return { key };
  const detail = `must have 1–${idempotencyKeyCharsMax} printable ASCII characters`;
  return { problem: problemOfFields(422, [{ field: 'Idempotency-Key', code: 'invalid_field', detail }]) };
}

const printable = /^[\x20-\x7e]+$/;
const unknownOutcome: Problem = {
  status: 503,
  code: 'control_plane_unavailable',
  detail: 'whether it was done is not known',
  errors: [],
  retryAfterS: 10,
};
