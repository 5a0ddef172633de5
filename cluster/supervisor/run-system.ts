// Runs Heliograph on one machine: lock, servers, roles, admin port, then the wait for a reason to stop, and the drain.
// It owns the signals of the process. Nothing it starts outlives it.
import { basename } from 'node:path';
import { systemClock } from '../../platform/clock.ts';
import { SetupError, ignoring, messageOf } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { collectProcessMetrics } from '../../platform/metric-registry.ts';
import type { Configuration } from '../../config/configuration.ts';
import { BadConfiguration } from '../../config/bad-configuration.ts';
import { exitCodeBadConfiguration, parseText } from '../../config/load.ts';
import { type ConfigurationWatch, watchConfiguration } from '../../config/watch.ts';
import { unknownVariables } from '../../config/known-variables.ts';
import type { Settings } from '../../config/settings.ts';
import { rememberedPorts } from '../embedded/ports.ts';
import { beginSealing, loadSecrets } from '../embedded/secrets.ts';
import { startAdminServer } from './admin-server.ts';
import { type DemoToPrint, baseUrl, readyText, say } from './announce.ts';
import { openDataFolder, removeConnections, writeConnections } from './data-folder.ts';
import { planChildren, portTaken } from './plan.ts';
import { startWarnings } from './start-warnings.ts';
import { SupervisionTree } from './supervision-tree.ts';

type SystemOptions = {
  settings: Settings;
  configuration: Configuration;
  /** Put changes of the file into effect; false when the configuration is not from a file. */
  watchFile: boolean;
  /** The folder of ingress.ts, actors.ts and so on. */
  rolesDir: string;
};

/** Resolves with the exit code when everything has ended. Throws SetupError when it cannot begin. */
export async function runSystem({ settings, configuration, rolesDir, watchFile }: SystemOptions): Promise<number> {
  const beganAtMs = systemClock.monotonicMs();
  const seconds = () => (systemClock.monotonicMs() - beganAtMs) / 1_000;
  const signals = listenToSignals();
  // A closed output (`npm start | head`) is no reason to stop sending messages.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error) => ignoring(error, 'the output is closed'));
  }
  // First, so that a second start reports a running system and not a taken port.
  const folder = await openDataFolder(settings.dataDir);
  const taken = await portTaken(settings);
  if (taken !== null) {
    folder.discard();
    throw new SetupError(taken);
  }
  const passwords = configuration.carriers.flatMap(({ binds }) => binds.map(({ password }) => password));
  const warnings = [...unknownVariables(process.env, passwords), ...startWarnings(settings, configuration)];
  for (const warning of warnings) say(`! ${warning}`);
  collectProcessMetrics('supervisor');
  const tidyUp = () => {
    removeConnections(folder.runDir);
    folder.release();
  };
  let exitCode = 0;
  let inEffect = configuration;
  let watch: ConfigurationWatch | null = null;
  try {
    beginSealing(settings.dataDir, systemClock.nowMs());
    const plan = await planChildren({
      settings,
      inEffect: () => inEffect,
      secrets: loadSecrets(settings.dataDir),
      ports: rememberedPorts(folder.runDir),
      runDir: folder.runDir,
      rolesDir,
    });
    const tree = new SupervisionTree(plan.specs);
    signals.onForce(() => {
      say('Stopping at once.');
      tree.killAll();
      const leave = () => {
        tidyUp();
        process.exit(130);
      };
      void Promise.allSettled(tree.children.map((child) => child.stop())).then(leave);
      systemClock.after(forceWithinMs, leave);
    });
    const admin = await startAdminServer(settings.adminHost, settings.adminPort, {
      tree,
      configurationRefused: () => watch?.refused() ?? null,
    });
    if (watchFile) {
      watch = watchConfiguration({
        file: settings.configFile,
        inEffect,
        parse: (text) => parseText(text, settings.configFile),
        apply(next, changed) {
          inEffect = next;
          tree.configure(next);
          say(`✓ ${basename(settings.configFile)} reloaded: ${changed.join(', ')}`);
        },
      });
    }
    try {
      writeConnections(folder.runDir, {
        pid: process.pid,
        configFile: watchFile ? settings.configFile : null,
        ...plan.connections,
        clickhouseUrl: settings.clickhouseUrl,
        httpUrl: baseUrl(settings),
        adminUrl: `http://${settings.adminHost}:${admin.port}`,
      });
      const readyFacts = new Map<string, Record<string, unknown>>();
      const listener = {
        onReady(name: string, facts: Record<string, unknown>) {
          readyFacts.set(name, facts);
          say(`✓ ${name.padEnd(12)} ${seconds().toFixed(1)} s`);
        },
        onFailed: (name: string, why: string) =>
          say(`✗ ${name.padEnd(12)} ${why}; retried from time to time, the others continue`),
      };
      const started = signals.hasStopped() ? Promise.resolve() : tree.start(listener);
      const first = await Promise.race([signals.stop, started.then(() => 'ready' as const)]);
      if (first === 'ready') {
        const demo = (readyFacts.get('control')?.['demo'] as DemoToPrint | null | undefined) ?? null;
        const { carriers } = inEffect;
        say(readyText({ settings, carriers, demo, adminPort: admin.port, secondsToReady: seconds() }));
        log.info({ seconds: seconds() }, 'everything is ready');
        await signals.stop;
      }
      started.catch((error) => ignoring(error, 'stopped while starting'));
      say('Draining …');
    } catch (error) {
      exitCode = error instanceof BadConfiguration ? exitCodeBadConfiguration : 1;
      say(`✗ ${messageOf(error)}`);
      // Already reported by the caller as something a person must change.
      if (!(error instanceof SetupError)) log.error({ error: messageOf(error) }, 'cannot start');
    }
    watch?.stop();
    admin.announceStop();
    await tree.stop();
    await admin.close();
    say(`Stopped.`);
  } finally {
    tidyUp();
    signals.close();
  }
  return exitCode;
}

/** A second SIGINT this soon is the same Ctrl-C: npm forwards what the terminal already sent. */
const samePressMs = 300;
/** The longest wait after a forced end. */
const forceWithinMs = 3_000;

function listenToSignals() {
  let firstAtMs: number | null = null;
  let stopped = false;
  let force: () => void = () => process.exit(130);
  const stop = Promise.withResolvers<void>();
  const onStop = () => {
    stopped = true;
    stop.resolve();
  };
  const onInterrupt = () => {
    const nowMs = systemClock.monotonicMs();
    if (firstAtMs === null) {
      firstAtMs = nowMs;
      onStop();
    } else if (nowMs - firstAtMs > samePressMs) force();
  };
  // disconnect: the set-up process that started us is gone, and nobody could stop us.
  const stopEvents = ['SIGTERM', 'SIGHUP', 'disconnect'];
  process.on('SIGINT', onInterrupt);
  for (const event of stopEvents) process.on(event, onStop);
  return {
    /** Resolves with the first reason to stop. */
    stop: stop.promise,
    hasStopped: () => stopped,
    onForce(run: () => void) {
      force = run;
    },
    close() {
      process.off('SIGINT', onInterrupt);
      for (const event of stopEvents) process.off(event, onStop);
    },
  };
}
