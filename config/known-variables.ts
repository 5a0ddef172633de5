// Every environment variable with the prefix HELIOGRAPH_ that is read, so that a misspelt one is reported.
import { printable } from '../model/plain-text.ts';
import { nearestName } from '../platform/nearest-name.ts';

const known: readonly string[] = [
  'HELIOGRAPH_ADMIN_HOST',
  'HELIOGRAPH_ADMIN_PORT',
  'HELIOGRAPH_API_KEY',
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
  'HELIOGRAPH_SIMULATED_HTTP',
  'HELIOGRAPH_SIMULATOR_TOKEN',
  'HELIOGRAPH_SQL_TOKEN',
];
/** With more changes it is another word and not suggested. */
const changesMax = 3;

/** A sentence for each variable that no code reads. `passwords` of carriers may be in any variable. */
export function unknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  passwords: readonly string[] = [],
): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (!name.startsWith('HELIOGRAPH_') || known.includes(name) || !value || passwords.includes(value)) return [];
    const near = nearestName(name, known, changesMax);
    const hint = near === null ? '' : `: did you mean ${near}?`;
    return [`${printable(name)} is set, and there is no such setting${hint}`];
  });
}
