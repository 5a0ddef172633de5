// The files of this repository, for tests of how they are written.
import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

export const root = join(import.meta.dirname, '..', '..');

/** Left out: they must name what they forbid. */
const ofTheRules = new Set(['test/tidy.test.ts', 'test/words.test.ts']);
export const sources = filesOf(root).filter(
  (file) => /\.(ts|mjs|mts)$/.test(file) && !file.startsWith('sdk/') && !ofTheRules.has(file),
);
export const textOf = new Map(sources.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

/** Where a pattern is found, as `file:line`. */
export function placesOf(file: string, code: string, pattern: RegExp): string[] {
  const flags = new Set([...pattern.flags, 'g']);
  return [...code.matchAll(new RegExp(pattern, [...flags].join('')))].map(
    ({ index }) => `${file}:${code.slice(0, index).split('\n').length}`,
  );
}

/** Relative to the root of the repository. */
export function filesOf(folder: string): string[] {
  const skipped = new Set(['node_modules', '.git', '.runtime', 'data', 'dist', 'coverage']);
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (skipped.has(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesOf(path);
    return entry.isFile() ? [relative(root, path)] : [];
  });
}
