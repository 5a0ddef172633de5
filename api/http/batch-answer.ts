// The answer to a batch, and the short form in which it is kept under an idempotency key: the ids follow from the key,
// so one letter for each message is enough, and a thousand of them take one kilobyte instead of seventy. A refusal that
// several messages share is kept once, and what would make the record too large is kept in a shorter form.
import type { MessageId } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';
import type { FieldProblem, Problem } from '../problem.ts';
import type { ItemResult } from './batch-items.ts';

type ShownError = { readonly code: string; readonly detail: string; readonly errors: readonly KeptField[] };
/** Without `detail` where it was shortened. */
type KeptField = Omit<FieldProblem, 'detail'> & Partial<FieldProblem>;
/** `a` accepted, `s` scheduled, `e` refused. */
type Kept = {
  readonly createdAtMs: number;
  readonly letters: string;
  /** Different refusals, and which of them each `e` in turn is. */
  readonly errors: readonly ShownError[];
  readonly errorOf: readonly number[];
};

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
  const refusals = new KeptRefusals();
  const errorOf = results.flatMap((result) => ('problem' in result ? [refusals.keep(shown(result.problem))] : []));
  const kept: Kept = { createdAtMs, letters: letters.join(''), errors: refusals.errors, errorOf };
  return JSON.stringify(kept);
}

/** The same text as batchAnswer's, but for refusals that were shortened. `idOf` makes the id again from when the key was first used. */
export function answerOfKept(text: string, idOf: (index: number, createdAtMs: number) => MessageId): string {
  const { createdAtMs, letters, errors, errorOf } = JSON.parse(text) as Kept;
  let failed = 0;
  const texts = [...letters].map((letter, index) => {
    if (letter !== 'e') return itemText(index, idOf(index, createdAtMs), letter === 'a' ? 'accepted' : 'scheduled');
    failed += 1;
    return JSON.stringify({ index, error: errors[errorOf[failed - 1] as number] });
  });
  return answerText(letters.length - failed, texts);
}

/** The different refusals of one batch, each in the longest form there is room for. */
class KeptRefusals {
  readonly errors: ShownError[] = [];
  readonly #places = new Map<string, number>();
  #bytesLeft: number = limits.http.batch.keptRefusalBytesMax;

  /** The place of this refusal among the errors. */
  keep(error: ShownError): number {
    return this.#place(error, false) ?? this.#place(withoutDetails(error), false) ?? this.#place(bare(error), true);
  }

  #place(error: ShownError, always: true): number;
  #place(error: ShownError, always: false): number | null;
  #place(error: ShownError, always: boolean): number | null {
    const text = JSON.stringify(error);
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    const bytes = Buffer.byteLength(text);
    if (!always && bytes > this.#bytesLeft) return null;
    // There are as many bare ones as codes, each small: they have room of their own.
    if (!always) this.#bytesLeft -= bytes;
    this.#places.set(text, this.errors.length);
    return this.errors.push(error) - 1;
  }
}

const shortened = 'too many different refusals to keep the text of each: see the code and the fields';

const withoutDetails = ({ code, errors }: ShownError): ShownError => ({
  code,
  detail: shortened,
  errors: errors.map(({ field, code: ofField }) => ({ field, code: ofField })),
});

const bare = ({ code }: ShownError): ShownError => ({ code, detail: shortened, errors: [] });

function shown({ code, detail, errors }: Problem): ShownError {
  return { code, detail, errors };
}

function itemText(index: number, id: MessageId, status: string): string {
  return `{"index":${index},"id":"${id}","status":"${status}"}`;
}

function answerText(accepted: number, texts: readonly string[]): string {
  return `{"accepted":${accepted},"rejected":${texts.length - accepted},"results":[${texts.join(',')}]}`;
}
