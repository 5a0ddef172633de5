// Loads heliograph.yaml, or refuses it with all its problems: file, line, found, expected. The supervisor reads it
// once; its children get the result in the environment and need neither the file nor the parser.
import { readOrRefuse, shown } from './bad-configuration.ts';
import type { Configuration } from './configuration.ts';

/** sysexits.h EX_CONFIG: process managers can distinguish a bad configuration from a crash. */
export const exitCodeBadConfiguration = 78;

type Env = Record<string, string | undefined>;

/** The environment variable that carries the configuration from the supervisor to its children, as JSON. */
export const configurationVariable = 'HELIOGRAPH_CONFIGURATION';

/** The configuration that the supervisor passed to this role; without one, that of the file. */
export async function loadConfiguration(file: string, env: Env = process.env): Promise<Configuration> {
  const handed = env[configurationVariable];
  if (isHandedOver(env) && handed !== undefined) return JSON.parse(handed) as Configuration;
  return readConfiguration(file, env);
}

export async function readConfiguration(file: string, env: Env = process.env): Promise<Configuration> {
  return parseText(readOrRefuse(file, '; set HELIOGRAPH_CONFIG to the file'), file, env);
}

/** Parses `text`; `file` is for error messages and relative paths only. */
export async function parseText(text: string, file: string, env: Env = process.env): Promise<Configuration> {
  const { parseConfiguration } = await import('./parse.ts');
  return parseConfiguration(text, shown(file), env);
}

/** Whether the supervisor passed a configuration, so that the file is not read. */
export function isHandedOver(env: Env = process.env): boolean {
  return (env[configurationVariable] ?? '') !== '';
}
