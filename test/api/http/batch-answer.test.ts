// The compact form of a batch's answer decodes to the same answer.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answerOfKept, batchAnswer, keptAnswer } from '../../../api/http/batch-answer.ts';
import { type ItemResult, refusedItem } from '../../../api/http/batch-items.ts';
import { SliceTurns } from '../../../api/http/slice-turns.ts';
import { type Problem, problem, problemOfFields, wrongField } from '../../../api/problem.ts';
import { limits } from '../../../platform/limits.ts';
import { derivedMessageId, newAccountId } from '../../../model/ids.ts';

const account = newAccountId(1_700_000_000_000);
const turns = new SliceTurns();
const slices = () => turns.slices();
const createdAtMs = 1_800_000_000_000;
const idOf = (index: number, atMs: number) => derivedMessageId(account, `key#${index}`, atMs);

test('for any results, a replay returns the same text', () => {
  const anyKind = fc.oneof(
    fc.constantFrom('accepted' as const, 'scheduled' as const),
    fc.string({ unit: 'grapheme', maxLength: 30 }).map((detail) => ({ detail })),
  );
  return fc.assert(
    fc.asyncProperty(fc.array(anyKind, { maxLength: 50 }), async (kinds) => {
      const results = kinds.map((kind, index): ItemResult => {
        if (typeof kind === 'string') return { id: idOf(index, createdAtMs), status: kind };
        return index % 2 === 0
          ? refusedItem(problem(503, 'overloaded', kind.detail, 1))
          : refusedItem(wrongField('to', kind.detail, 'invalid_recipient'));
      });
      const text = await batchAnswer(results, slices());
      expect(await answerOfKept(await keptAnswer(results, createdAtMs, slices()), idOf, slices())).toBe(text);
      expect(JSON.parse(text)).toMatchObject({ accepted: kinds.filter((kind) => typeof kind === 'string').length });
    }),
  );
});

test('a thousand accepted messages are kept in little more than a kilobyte', async () => {
  const results = Array.from(
    { length: 1_000 },
    (_, index): ItemResult => ({ id: idOf(index, createdAtMs), status: 'accepted' }),
  );
  expect((await keptAnswer(results, createdAtMs, slices())).length).toBeLessThan(1_100);
});

const refusedWith = (count: number, detail: (index: number, at: number) => string): ItemResult[] =>
  Array.from({ length: 1_000 }, (_, index) => {
    const fieldProblem = (at: number) => ({
      field: `field-${String(at)}`,
      code: 'unknown_field' as const,
      detail: detail(index, at),
    });
    const others = Array.from({ length: count - 1 }, (_each, at) => fieldProblem(at + 1));
    return refusedItem(problemOfFields([fieldProblem(0), ...others]) as Problem);
  });

test('a refusal that a thousand messages share is stored once, and returned with each', async () => {
  const results = refusedWith(10, (_, at) => `field ${at} is not a field of this request: ${'x'.repeat(200)}`);
  const kept = await keptAnswer(results, createdAtMs, slices());
  expect(kept.length).toBeLessThan(10_000);
  expect(await answerOfKept(kept, idOf, slices())).toBe(await batchAnswer(results, slices()));
});

test('a thousand different refusals are stored within the bound, each with its code, the later ones without their text', async () => {
  for (const perDetail of [1, 300, 3_000]) {
    const results = refusedWith(10, (index, at) => `${index} ${at} ${'ü'.repeat(perDetail)}`);
    const kept = await keptAnswer(results, createdAtMs, slices());
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(limits.http.batch.keptAnswerBytesMax);
    const answer = JSON.parse(await answerOfKept(kept, idOf, slices())) as {
      rejected: number;
      results: { error: { code: string } }[];
    };
    expect(answer.rejected).toBe(1_000);
    const { code } = (results[0] as { problem: { code: string } }).problem;
    expect(answer.results.every(({ error }) => error.code === code)).toBe(true);
  }
});
