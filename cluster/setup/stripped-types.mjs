// Loaded before all else in each process of the product and of the tests (`--import` in NODE_OPTIONS): gives Node our
// TypeScript files without their types from `.runtime/stripped-types`, where the first process that needs one stores it.
// Node 22 strips every file again in each process and thread, which is half of what the start of a role costs
// (decision 245). Node itself strips them here, too, so they are what it would run.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { debuglog } from 'node:util';
import { threadId } from 'node:worker_threads';

const folder = join(import.meta.dirname, '../../.runtime/stripped-types');
const hashLength = 40;
const debug = debuglog('heliograph');

// An older Node, which a test may run as well, has no such hooks and loads no TypeScript.
module.registerHooks?.({
  // Node would look for the file, its real path and the package.json above it, for each of some 250 in each process.
  resolve(specifier, context, nextResolve) {
    if (!specifier.startsWith('.') || !specifier.endsWith('.ts')) return nextResolve(specifier, context);
    return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true };
  },
  load(url, context, nextLoad) {
    if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
    return { format: 'module', source: withoutTypes(readFileSync(fileURLToPath(url), 'utf8')), shortCircuit: true };
  },
});

/**
 * @param {string} source
 * @returns {string}
 */
function withoutTypes(source) {
  // A changed file is never taken for its earlier version: its name is the hash of what it was made from.
  const file = join(folder, `${sha1(source)}.js`);
  const stored = read(file);
  if (stored !== null) return stored;
  const stripped = strip(source);
  store(file, stripped);
  return stripped;
}

/** What is stored begins with the hash of the rest: a file that a loss of power cut short is made again. */
function read(file) {
  const text = attempt(() => readFileSync(file, 'utf8')) ?? '';
  const stripped = text.slice(hashLength);
  return text.slice(0, hashLength) === sha1(stripped) ? stripped : null;
}

function store(file, stripped) {
  const written = `${file}.${process.pid}.${threadId}`;
  const isStored = attempt(() => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(written, sha1(stripped) + stripped);
    renameSync(written, file);
    return true;
  });
  if (isStored === null) attempt(() => rmSync(written));
}

/**
 * Null when it fails: a checkout that cannot be read or written there only starts more slowly.
 * @template T
 * @param {() => T} work
 * @returns {T | null}
 */
function attempt(work) {
  try {
    return work();
  } catch (error) {
    // NODE_DEBUG=heliograph shows it.
    debug('%s', error.message);
    return null;
  }
}

/** Node calls the function experimental; it does the same without a word when it loads a file. */
function strip(source) {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return module.stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** @param {string} text */
function sha1(text) {
  return createHash('sha1').update(text).digest('hex');
}
