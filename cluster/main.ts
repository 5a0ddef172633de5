// `heliograph start`: from settings and configuration to the running, supervised system and its exit code. A
// composition root: it may import everything and decides nothing itself.
import { parseArgs } from 'node:util';
import { join } from 'node:path';
import { SetupError, messageOf } from '../platform/errors.ts';
import { log } from '../platform/log.ts';
import { keepFilesPrivate } from '../platform/private-files.ts';
import { BadConfiguration } from '../config/bad-configuration.ts';
import { exitCodeBadConfiguration, isHandedOver, loadConfiguration } from '../config/load.ts';
import { loadSettings, parseRoles } from '../config/settings.ts';
import { runSystem } from './supervisor/run-system.ts';

export type StartOptions = {
  /** `ingress,control`; overrides HELIOGRAPH_ROLES. */
  roles?: string;
  rolesDir?: string;
};

/** Resolves with the exit code when the system has stopped. What a person must fix goes to standard error. */
export async function start(options: StartOptions): Promise<number> {
  keepFilesPrivate();
  try {
    const settings = loadSettings();
    if (options.roles !== undefined) settings.roles = parseRoles(options.roles, '--roles');
    const configuration = await loadConfiguration(settings.configFile);
    const rolesDir = options.rolesDir ?? join(import.meta.dirname, 'roles');
    return await runSystem({ settings, configuration, rolesDir, watchFile: !isHandedOver() });
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return error instanceof BadConfiguration ? exitCodeBadConfiguration : 1;
  }
}

if (import.meta.main ?? process.argv[1] === import.meta.filename) {
  try {
    const { values } = parseArgs({ options: { roles: { type: 'string' } } });
    // Not process.exitCode: the channel to the set-up process would keep this one alive.
    process.exit(await start(values));
  } catch (error) {
    log.fatal({ error: messageOf(error), stack: error instanceof Error ? error.stack : undefined }, 'start failed');
    process.stderr.write(`${messageOf(error)}\n`);
    process.exit(1);
  }
}
