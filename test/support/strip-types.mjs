// Once in each test run: stores the product's files and the tests' without their types, for test files and for the
// processes that they start (stripped-types.mjs). Node itself strips them, so they are what it would run.
import { globSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { strippedFolder, strippedName } from './stripped-store.mjs';

const root = join(import.meta.dirname, '../..');

/** Called by Vitest before the first test. */
export default function stripTypes() {
  mkdirSync(strippedFolder, { recursive: true });
  const stored = new Set(readdirSync(strippedFolder));
  const isLeftOut = (path) => /(^|\/)(node_modules|\.runtime|data)$/.test(path);
  const files = globSync('**/*.ts', { cwd: root, exclude: isLeftOut });
  const sources = files.map((file) => readFileSync(join(root, file), 'utf8'));
  const wanted = new Map(sources.map((source) => [strippedName(source), source]));
  withoutWarnings(() => {
    for (const [name, source] of wanted) if (!stored.has(name)) store(name, stripTypeScriptTypes(source));
  });
  for (const name of stored) if (!wanted.has(name)) rmSync(join(strippedFolder, name), { force: true });
}

/** Whole or not at all: other runs may read it. */
function store(name, text) {
  const written = join(strippedFolder, `${name}.${process.pid}`);
  writeFileSync(written, text);
  renameSync(written, join(strippedFolder, name));
}

/** Node calls the function experimental; it does the same without a word when it loads a file. */
function withoutWarnings(work) {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    work();
  } finally {
    process.emitWarning = emitWarning;
  }
}
