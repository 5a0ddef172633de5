// The files that processes load without their types: each is stripped by the first process that needs it, and what is
// stored is used only as it was written.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'heliograph-stripped-'));
  mkdirSync(join(root, 'cluster/setup'), { recursive: true });
  cpSync(join(import.meta.dirname, '../../../cluster/setup/stripped-types.mjs'), hook());
  write('first');
});
afterEach(() => rmSync(root, { recursive: true }));

const hook = () => join(root, 'cluster/setup/stripped-types.mjs');
const store = () => join(root, '.runtime/stripped-types');
const write = (text: string) =>
  writeFileSync(join(root, 'file.ts'), `const text: string = '${text}';\nconsole.log(text);\n`);

/** What the file prints, and whether Node warned. */
function run(): string {
  const { NODE_OPTIONS: _ours, ...env } = process.env;
  const args = [`--import=${pathToFileURL(hook()).href}`, join(root, 'file.ts')];
  return execFileSync(process.execPath, args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

/** The only stored file. */
function stored(): string {
  const names = readdirSync(store());
  expect(names).toHaveLength(1);
  return join(store(), names[0] as string);
}

test('a file is stored without its types, and the next process runs what is stored', () => {
  expect(run()).toBe('first\n');
  const text = readFileSync(stored(), 'utf8');
  expect(text).toContain("const text         = 'first';");
  const changed = readdirSync(store());
  expect(run()).toBe('first\n');
  expect(readdirSync(store())).toEqual(changed);
});

test('a changed file is not taken for its earlier version', () => {
  run();
  write('second');
  expect(run()).toBe('second\n');
  expect(readdirSync(store())).toHaveLength(2);
});

test.each([
  ['cut short', (text: string) => text.slice(0, -5)],
  ['empty', () => ''],
  ['changed', (text: string) => text.replace('first', 'other')],
])('what is stored is made again when it is %s', (_what, damage) => {
  run();
  const file = stored();
  const whole = readFileSync(file, 'utf8');
  writeFileSync(file, damage(whole));
  expect(run()).toBe('first\n');
  expect(readFileSync(file, 'utf8')).toBe(whole);
});

test('without a place to store it the file runs all the same', () => {
  mkdirSync(join(root, '.runtime'));
  writeFileSync(store(), 'no folder');
  expect(run()).toBe('first\n');
});
