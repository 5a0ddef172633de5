// The answer to a batch, and the short form stored under an idempotency key. Ids are derived from the key, so one
// letter per message is enough: a thousand messages take one kilobyte instead of seventy. A refusal that several
// messages share is stored once, and shortened when the record would get too large.
import type { MessageId } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';
import type { FieldProblem, Problem } from '../problem.ts';
import type { ItemResult, RefusedItem } from './batch-items.ts';
import type { Slices } from './slice-turns.ts';

type ShownError = { readonly code: string; readonly detail: string; readonly errors: readonly KeptField[] };
/** Without `detail` in a shortened refusal. */
type KeptField = Omit<FieldProblem, 'detail'> & Partial<FieldProblem>;
/** `a` accepted, `s` scheduled, `e` refused. */
type Kept = {
  readonly createdAtMs: number;
  readonly letters: string;
  /** The different refusals, and for each `e` in turn the index of its refusal. */
  readonly errors: readonly ShownError[];
  readonly errorOf: readonly number[];
};

/** Built in slices: with a text for each of a thousand refusals it is a megabyte. */
export async function batchAnswer(results: readonly ItemResult[], slices: Slices): Promise<string> {
  let accepted = 0;
  const texts: string[] = [];
  for (const [index, result] of results.entries()) {
    if (slices.isOver) await slices.next();
    if ('problem' in result) texts.push(refusedText(index, result.error));
    else {
      accepted += 1;
      texts.push(itemText(index, result.id, result.status));
    }
  }
  return answerText(accepted, texts);
}

export async function keptAnswer(results: readonly ItemResult[], createdAtMs: number, slices: Slices): Promise<string> {
  const letters: string[] = [];
  const errorOf: number[] = [];
  const refusals = new KeptRefusals();
  for (const result of results) {
    if (slices.isOver) await slices.next();
    letters.push('problem' in result ? 'e' : result.status === 'accepted' ? 'a' : 's');
    if ('problem' in result) errorOf.push(refusals.keep(result));
  }
  const kept: Kept = { createdAtMs, letters: letters.join(''), errors: refusals.errors, errorOf };
  return JSON.stringify(kept);
}

/**
 * Rebuilds the text of batchAnswer, with shortened refusals where they were stored so. `idOf` derives the ids again.
 */
export async function answerOfKept(
  text: string,
  idOf: (index: number, createdAtMs: number) => MessageId,
  slices: Slices,
): Promise<string> {
  const { createdAtMs, letters, errors, errorOf } = JSON.parse(text) as Kept;
  const errorTexts = errors.map((error) => JSON.stringify(error));
  let failed = 0;
  const texts: string[] = [];
  for (const [index, letter] of [...letters].entries()) {
    if (slices.isOver) await slices.next();
    if (letter === 'e') {
      texts.push(refusedText(index, errorTexts[errorOf[failed] as number] as string));
      failed += 1;
    } else texts.push(itemText(index, idOf(index, createdAtMs), letter === 'a' ? 'accepted' : 'scheduled'));
  }
  return answerText(letters.length - failed, texts);
}

/** The different refusals of one batch, each in the longest form that fits. */
class KeptRefusals {
  readonly errors: ShownError[] = [];
  readonly #places = new Map<string, number>();
  #bytesLeft: number = limits.http.batch.keptRefusalBytesMax;

  /** Stores the refusal once and returns its index among the errors. */
  keep({ problem, error }: RefusedItem): number {
    const known = this.#places.get(error);
    if (known !== undefined) return known;
    const place = this.#add(error, this.#bytesLeft) ?? this.#add(withoutDetails(problem), this.#bytesLeft);
    // Bare refusals are as few as the codes, and small: they always fit.
    return place ?? (this.#add(bare(problem), Number.POSITIVE_INFINITY) as number);
  }

  #add(text: string, bytesMax: number): number | null {
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    const bytes = Buffer.byteLength(text);
    if (bytes > bytesMax) return null;
    if (Number.isFinite(bytesMax)) this.#bytesLeft -= bytes;
    this.#places.set(text, this.errors.length);
    return this.errors.push(JSON.parse(text) as ShownError) - 1;
  }
}

const shortened = 'too many different refusals to keep the text of each: see the code and the fields';

const withoutDetails = ({ code, errors }: Problem): string =>
  JSON.stringify({
    code,
    detail: shortened,
    errors: errors.map(({ field, code: ofField }) => ({ field, code: ofField })),
  });

const bare = ({ code }: Problem): string => JSON.stringify({ code, detail: shortened, errors: [] });

const refusedText = (index: number, error: string): string => `{"index":${index},"error":${error}}`;

function itemText(index: number, id: MessageId, status: string): string {
  return `{"index":${index},"id":"${id}","status":"${status}"}`;
}

function answerText(accepted: number, texts: readonly string[]): string {
  return `{"accepted":${accepted},"rejected":${texts.length - accepted},"results":[${texts.join(',')}]}`;
}
