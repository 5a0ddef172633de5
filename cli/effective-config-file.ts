// The heliograph.yaml that a command uses: that of the running system, wherever it was started, otherwise the one that
// a start in this shell would read.
import { loadSettings } from '../config/settings.ts';
import { isAlive } from '../cluster/embedded/processes.ts';
import { type Connections, readConnections } from '../cluster/supervisor/data-folder.ts';

/**
 * `isRunning`: it is the running system's file · `warning`: set when HELIOGRAPH_CONFIG of this shell names another file
 * than the running system's.
 */
export function effectiveConfigFile(env: Record<string, string | undefined> = process.env) {
  const { configFile, dataDir } = loadSettings(env);
  const running = runningOn(dataDir)?.configFile ?? null;
  if (running === null) return { file: configFile, isRunning: false, warning: null };
  const isAnother = Boolean(env['HELIOGRAPH_CONFIG']) && configFile !== running;
  const warning = `HELIOGRAPH_CONFIG is ${configFile}, but the running system was started with ${running}: this command uses the latter`;
  return { file: running, isRunning: true, warning: isAnother ? warning : null };
}

/** effectiveConfigFile(), with its warning printed on standard error. */
export function effectiveConfigFileOrWarn() {
  const found = effectiveConfigFile();
  if (found.warning !== null) process.stderr.write(`! ${found.warning}\n`);
  return found;
}

/** Null when nothing runs, also when a killed supervisor left its file. */
export function runningOn(dataDir: string): Connections | null {
  const connections = readConnections(dataDir);
  return connections !== null && isAlive(connections.pid) ? connections : null;
}
