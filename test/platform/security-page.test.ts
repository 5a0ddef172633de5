// docs/security.md says what is protected and which test proves it. Checked here: each named test and file exists, and
// every group of OWASP ASVS 4.0.3 has one row with a known state.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/security.md'), 'utf8');

test('every test that docs/security.md names exists', () => {
  const named = [...page.matchAll(/`(test\/[^`]+\.test\.ts)`:\s`([^`]+)`/g)];
  expect(named.length).toBeGreaterThan(80);
  const missing = named.filter(([, file = '', name = '']) => !namesIn(file).has(name)).map(([whole]) => whole);
  expect(missing).toEqual([]);
});

test('every file that docs/security.md names exists', () => {
  const named = [...page.matchAll(/`((?:actors|analytics|api|cluster|model|platform|policy|smpp|test)\/[^`\s]+)`/g)];
  expect(named.length).toBeGreaterThan(80);
  expect(named.map(([, path = '']) => path).filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

/** How many groups each chapter of the standard has, V1 to V14. */
const groupsOfChapter = [14, 10, 7, 3, 5, 4, 4, 3, 2, 3, 1, 6, 4, 5];

test('every group of ASVS 4.0.3 has one row; what is met has its proof, what is not has its reason', () => {
  const rows = page
    .split('\n')
    .filter((line) => /^\| V\d+\.\d+ /.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const groups = groupsOfChapter.flatMap((count, at) =>
    Array.from({ length: count }, (_, group) => `V${at + 1}.${group + 1}`),
  );
  expect(rows.map(([name = '']) => name.split(' ')[0])).toEqual(groups);
  for (const [name, state = '', , proof = ''] of rows) {
    expect([name, ['met', 'partly', 'not met', 'n/a'].includes(state)]).toEqual([name, true]);
    if (state === 'met') expect([name, /`: `|^by construction: /.test(proof)]).toEqual([name, true]);
    if (state === 'partly' || state === 'not met') expect([name, proof !== '']).toEqual([name, true]);
  }
});

/** Names of the tests in a file, as written there. */
function namesIn(file: string): Set<string> {
  if (!existsSync(join(root, file))) return new Set();
  const source = readFileSync(join(root, file), 'utf8');
  const names = source.matchAll(/(?:\b(?:test|it)|\))\(\s*(?:'((?:[^'\\\n]|\\.)+)'|"((?:[^"\\\n]|\\.)+)")/g);
  return new Set([...names].map(([, single, double]) => single ?? double ?? ''));
}
