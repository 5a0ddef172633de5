// Every variable of the environment that begins with HELIOGRAPH_ and is read, so that a misspelt one is reported.
import { printable } from '../model/plain-text.ts';

const known: readonly string[] = [
  'HELIOGRAPH_ADMIN_HOST',
  'HELIOGRAPH_ADMIN_PORT',
  'HELIOGRAPH_BODY_KEY',
  'HELIOGRAPH_CONFIG',
  'HELIOGRAPH_CONFIGURATION',
  'HELIOGRAPH_CONTROL_PORT',
  'HELIOGRAPH_CONTROL_SECRET',
  'HELIOGRAPH_DATA',
  'HELIOGRAPH_HTTP_HOST',
  'HELIOGRAPH_HTTP_PORT',
  'HELIOGRAPH_LOG',
  'HELIOGRAPH_NATS_SERVER',
  'HELIOGRAPH_NODE',
  'HELIOGRAPH_OWN_BUS',
  'HELIOGRAPH_ROLE',
  'HELIOGRAPH_ROLES',
  'HELIOGRAPH_SIMULATED',
  'HELIOGRAPH_SMPP_PORT',
];
/** More changes than this make another word. */
const changesMax = 3;

/** A sentence for each variable that nothing reads. `passwords`: of the carriers, which may come from any variable. */
export function unknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  passwords: readonly string[] = [],
): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (!name.startsWith('HELIOGRAPH_') || known.includes(name) || !value || passwords.includes(value)) return [];
    const [nearest] = known
      .map((each) => ({ each, changes: changesBetween(name, each) }))
      .toSorted((one, other) => one.changes - other.changes);
    const hint = nearest !== undefined && nearest.changes <= changesMax ? `: did you mean ${nearest.each}?` : '';
    return [`${printable(name)} is set, and there is no such setting${hint}`];
  });
}

/** Letters to put in, take out or replace (Levenshtein). */
function changesBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [line, letter] of [...one].entries()) {
    const next = [line + 1];
    for (const [at, wanted] of [...other].entries()) {
      const replaced = (row[at] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
