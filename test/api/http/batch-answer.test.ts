// The short form of a batch's answer says what the answer said.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answerOfKept, batchAnswer, keptAnswer } from '../../../api/http/batch-answer.ts';
import type { ItemResult } from '../../../api/http/batch-items.ts';
import { problem, problemOfFields } from '../../../api/problem.ts';
import { derivedMessageId, newAccountId } from '../../../model/ids.ts';

const account = newAccountId(1_700_000_000_000);
const createdAtMs = 1_800_000_000_000;
const idOf = (index: number, atMs: number) => derivedMessageId(account, `key#${index}`, atMs);

test('whatever became of the messages, a replay shows the same text', () => {
  const anyKind = fc.oneof(
    fc.constantFrom('accepted' as const, 'scheduled' as const),
    fc.string({ unit: 'grapheme', maxLength: 30 }).map((detail) => ({ detail })),
  );
  fc.assert(
    fc.property(fc.array(anyKind, { maxLength: 50 }), (kinds) => {
      const results = kinds.map((kind, index): ItemResult => {
        if (typeof kind === 'string') return { id: idOf(index, createdAtMs), status: kind };
        return index % 2 === 0
          ? { problem: problem(503, 'overloaded', kind.detail, [], 1) }
          : { problem: problemOfFields(422, [{ field: 'to', code: 'invalid_recipient', detail: kind.detail }]) };
      });
      const text = batchAnswer(results);
      expect(answerOfKept(keptAnswer(results, createdAtMs), idOf)).toBe(text);
      expect(JSON.parse(text)).toMatchObject({ accepted: kinds.filter((kind) => typeof kind === 'string').length });
    }),
  );
});

test('a thousand accepted messages are kept in little more than a kilobyte', () => {
  const results = Array.from(
    { length: 1_000 },
    (_, index): ItemResult => ({ id: idOf(index, createdAtMs), status: 'accepted' }),
  );
  expect(keptAnswer(results, createdAtMs).length).toBeLessThan(1_100);
});
