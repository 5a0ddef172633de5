// Automatic idempotency keys, `auto_<ms>_<random>`: a client library sends one with every message so that its own
// retries are safe. The message id is derived from account and key, and JetStream drops a second publish of the id
// within its window. Nothing is stored, so such a key promises less than a caller's own: docs/idempotency.md.
import { type AccountId, type MessageId, derivedMessageId } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';
import { type Problem, wrongField } from '../problem.ts';

/** When the client first sent the request, by the client's clock. */
export type AutomaticKey = { readonly sentAtMs: number };

const form = /^auto_(\d{13})_[A-Za-z0-9-]{16,64}$/;
const prefix = 'auto_';
const { automaticKeyMs, automaticKeyAheadMs } = limits.idempotency;

/** Null: not an automatic key. A problem: starts with auto_ but is malformed, or outside its time window. */
export function readAutomaticKey(
  idempotencyKey: string,
  nowMs: number,
): AutomaticKey | null | { readonly problem: Problem } {
  if (!idempotencyKey.startsWith(prefix)) return null;
  const text = form.exec(idempotencyKey)?.[1];
  if (text === undefined) {
    return wrong('begins with auto_ and must be auto_<milliseconds since 1970>_<16 to 64 letters, digits or dashes>');
  }
  const sentAtMs = Number(text);
  const ageMs = nowMs - sentAtMs;
  if (ageMs <= automaticKeyMs && ageMs >= -automaticKeyAheadMs) return { sentAtMs };
  const bounds = `at most ${automaticKeyMs / 1_000} s old and ${automaticKeyAheadMs / 1_000} s ahead`;
  return wrong(`an automatic key must be ${bounds}; it says ${sentAtMs}, the server's time is ${Math.floor(nowMs)}`);
}

/** Derives the message id, or the seed of a batch's ids: the same for every retry. */
export function idOfAutomaticKey(
  accountId: AccountId,
  livemode: boolean,
  { idempotencyKey, sentAtMs }: AutomaticKey & { readonly idempotencyKey: string },
  index: number | null = null,
): MessageId {
  const seed = `${livemode ? 'live' : 'test'}:${idempotencyKey}`;
  return derivedMessageId(accountId, index === null ? seed : `${seed}#${index}`, sentAtMs);
}

const wrong = (detail: string) => ({ problem: wrongField('Idempotency-Key', detail) });
