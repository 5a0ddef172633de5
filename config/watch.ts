// Watches heliograph.yaml and applies every valid version that differs from the one in effect; an invalid one is
// reported once and changes nothing. It compares contents a few times a second, because editors replace files and
// container platforms swap links, without a common notification. A version counts when two consecutive reads return it.
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { type Clock, systemClock } from '../platform/clock.ts';
import { ignoring, messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { log } from '../platform/log.ts';
import { metrics } from '../platform/telemetry.ts';
import type { Configuration } from './configuration.ts';
import { BadConfiguration } from './bad-configuration.ts';
import { reloadVerdict } from './reload.ts';

type WatchOptions = {
  readonly file: string;
  readonly inEffect: Configuration;
  /** Text → configuration; throws BadConfiguration. */
  readonly parse: (text: string) => Configuration | Promise<Configuration>;
  /** Applies a valid change. */
  readonly apply: (next: Configuration, changed: readonly string[]) => void;
  readonly clock?: Clock;
};

export type ConfigurationWatch = ReturnType<typeof watchConfiguration>;

/** Opens a problem that is none of the file's: the change is valid, and read at the start only. */
export const restartNeeded = 'needs a restart: ';

export function watchConfiguration(options: WatchOptions) {
  const { file, parse, apply, clock = systemClock } = options;
  let inEffect = options.inEffect;
  let refused: readonly string[] | null = null;
  let lastStat = '';
  let candidate = '';
  let decided = '';
  let looking = false;
  let stopped = false;
  let unreadableLooks = 0;

  async function look(): Promise<void> {
    if (looking || stopped) return;
    looking = true;
    try {
      const { mtimeMs, size, ino } = await stat(file);
      unreadableLooks = 0;
      const seen = `${mtimeMs}|${size}|${ino}`;
      if (seen === lastStat && candidate === decided) return;
      lastStat = seen;
      if (size > limits.configuration.bytesMax) return refuse([`${file}: larger than any configuration can be`], seen);
      const text = await readFile(file, 'utf8');
      const hash = createHash('sha256').update(text).digest('hex');
      if (hash !== candidate) {
        candidate = hash; // perhaps half written: the next read must return the same
        return;
      }
      if (hash === decided) return;
      decided = hash;
      await decide(text);
    } catch (error) {
      // It may be missing for a moment while it is replaced.
      ignoring(error, 'the configuration file could not be read');
      unreadableLooks += 1;
      if (unreadableLooks === limits.configuration.unreadableLooksMax) reportUnreadable(error);
    } finally {
      looking = false;
    }
  }

  async function decide(text: string): Promise<void> {
    let next: Configuration;
    try {
      next = await parse(text);
    } catch (error) {
      return refuse(error instanceof BadConfiguration ? error.problems : [messageOf(error)], decided);
    }
    if (stopped) return;
    const verdict = reloadVerdict(inEffect, next);
    if (!verdict.ok)
      return refuse(
        verdict.needRestart.map((each) => `${restartNeeded}${each}`),
        decided,
      );
    // The end of an alarm is logged at a level that is shown wherever the alarm was.
    if (refused !== null) log.warn({ file }, 'the configuration file is in effect again');
    refused = null;
    if (verdict.changed.length === 0) return;
    inEffect = next;
    metrics.configReloads.inc();
    log.info({ file, changed: verdict.changed }, 'the changed configuration is in effect');
    apply(next, verdict.changed);
  }

  /** Changes nothing that runs. A file that is back is read again, also when it is the one of before. */
  function reportUnreadable(error: unknown): void {
    lastStat = '';
    candidate = 'unreadable';
    decided = 'unreadable';
    refused = [
      `${file} cannot be read: what was read from it stays in effect, and the next start fails (${messageOf(error)})`,
    ];
    log.warn({ alarm: 'config_unreadable', file, error: messageOf(error) }, 'the configuration file cannot be read');
  }

  function refuse(problems: readonly string[], version: string): void {
    candidate = version;
    decided = version;
    refused = problems;
    metrics.configReloadFailed.inc();
    log.error(
      { alarm: 'config_reload_failed', file, problems },
      'the changed configuration is refused, the old one stays',
    );
  }

  const stopLooks = clock.every(limits.configuration.lookEveryMs, () => void look());
  return {
    /** Null while the file is in effect; else why it is not, one line per problem. */
    refused: () => refused,
    /** Checks now instead of at the next interval; for tests and for a signal. */
    look,
    stop() {
      stopped = true;
      stopLooks();
    },
  };
}
