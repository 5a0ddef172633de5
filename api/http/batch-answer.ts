// The answer to a batch, and the short form in which it is kept under an idempotency key: the ids follow from the key,
// so one letter for each message is enough, and a thousand of them take one kilobyte instead of seventy.
import type { MessageId } from '../../model/ids.ts';
import type { ItemResult } from './batch-items.ts';

type ShownError = { readonly code: string; readonly detail: string; readonly errors: readonly unknown[] };
/** `a` accepted, `s` scheduled, `e` the next of the errors. */
type Kept = { readonly createdAtMs: number; readonly letters: string; readonly errors: readonly ShownError[] };

export function batchAnswer(results: readonly ItemResult[]): string {
  let accepted = 0;
  const texts = results.map((result, index) => {
    if ('problem' in result) return JSON.stringify({ index, error: shown(result.problem) });
    accepted += 1;
    return itemText(index, result.id, result.status);
  });
  return answerText(accepted, texts);
}

export function keptAnswer(results: readonly ItemResult[], createdAtMs: number): string {
  const letters = results.map((result) => ('problem' in result ? 'e' : result.status === 'accepted' ? 'a' : 's'));
  const errors = results.flatMap((result) => ('problem' in result ? [shown(result.problem)] : []));
  const kept: Kept = { createdAtMs, letters: letters.join(''), errors };
  return JSON.stringify(kept);
}

/** The same text as batchAnswer's. `idOf` makes the id again from when the key was first used. */
export function answerOfKept(text: string, idOf: (index: number, createdAtMs: number) => MessageId): string {
  const { createdAtMs, letters, errors } = JSON.parse(text) as Kept;
  let failed = 0;
  const texts = [...letters].map((letter, index) => {
    if (letter !== 'e') return itemText(index, idOf(index, createdAtMs), letter === 'a' ? 'accepted' : 'scheduled');
    failed += 1;
    return JSON.stringify({ index, error: errors[failed - 1] });
  });
  return answerText(letters.length - failed, texts);
}

function shown({ code, detail, errors }: ShownError): ShownError {
  return { code, detail, errors };
}

function itemText(index: number, id: MessageId, status: string): string {
  return `{"index":${index},"id":"${id}","status":"${status}"}`;
}

function answerText(accepted: number, texts: readonly string[]): string {
  return `{"accepted":${accepted},"rejected":${texts.length - accepted},"results":[${texts.join(',')}]}`;
}
