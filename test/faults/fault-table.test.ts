// docs/faults.md names for every fault the tests that prove that it is survived. Checked here: each row once, each file
// exists, each name is the name of a test in it. A row without proof must say so.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/faults.md'), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => /^\| \d+ \|/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, number = '', fault = '', holds = '', proof = '']) => ({ number: Number(number), fault, holds, proof }));

test('the page has its faults each once and in order', () => {
  const numbers = rows.map((row) => row.number);
  expect(numbers.slice(0, 45)).toEqual(Array.from({ length: 45 }, (_, at) => at + 1));
  expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
  for (const row of rows) expect([row.number, row.fault !== '' && row.holds !== '']).toEqual([row.number, true]);
});

describe('what proves row', () => {
  test.each(rows)('$number exists: $fault', ({ proof }) => {
    const proofs = proof.split(' <br> ').map((each) => /^`(test\/[^`]+)`: `([^`]+)`$/.exec(each));
    if (/^not yet: there (is|are) no /.test(proof)) return;
    for (const [at, each] of proofs.entries()) {
      const text = proof.split(' <br> ')[at] ?? '';
      if (each === null) {
        const bench = /^(?:and )?a bench: `npm run bench -- ([a-z-]+)[^`]*`$/.exec(text);
        expect([text, bench !== null && existsSync(join(root, 'bench', `${bench[1]}.ts`))]).toEqual([text, true]);
        continue;
      }
      const [, file = '', name = ''] = each;
      expect([file, existsSync(join(root, file))]).toEqual([file, true]);
      expect([name, namesIn(file).has(name)]).toEqual([name, true]);
    }
  });
});

/** Names of the tests in a file, as written there. */
function namesIn(file: string): Set<string> {
  const source = readFileSync(join(root, file), 'utf8');
  return new Set([...source.matchAll(/(?:\b(?:test|it)|\))\(\s*'((?:[^'\\\n]|\\.)+)'/g)].map(([, name = '']) => name));
}
