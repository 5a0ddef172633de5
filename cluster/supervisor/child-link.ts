// The child's half of supervision: a role process reports that it is ready, then its health once a second, answers requests
// for metrics, and drains on request. It stops by itself in two cases only: the supervisor is gone, or an uncaught error makes its
// state unknown.
import { systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { SetupError, ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { keepFilesPrivate } from '../../platform/private-files.ts';
import { collectProcessMetrics, currentMetrics } from '../../platform/metric-registry.ts';
import { metrics } from '../../platform/telemetry.ts';
import { BadConfiguration } from '../../config/bad-configuration.ts';
import type { Configuration } from '../../config/configuration.ts';
import type { FromChild, Health, MetricObject, ToChild } from './messages.ts';

type RunningRole = {
  /** Stops accepting work, finishes what it holds, closes everything. After `deadlineMs` the process is killed. */
  drain(deadlineMs: number): Promise<void>;
  /** The deadline of a drain without one (a signal). Missing: the default of all children. */
  drainMs?(): number;
  /** Metrics of the role's threads; the process's own registry is added. */
  metrics?(): Promise<MetricObject[]>;
  /** Puts a changed configuration into effect without a restart. Missing: the role uses none of it. */
  configure?(configuration: Configuration): Promise<void>;
  /** Called every second: cheap and without I/O. */
  health?(): Health;
  /** Sent with the ready message, for example the demo account's keys. */
  ready?: Record<string, unknown>;
};

export type ChildLink = {
  /** The role's settings and secrets: from the supervisor, or the environment when a role is run by hand. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted when the drain begins, and when the supervisor is gone. */
  readonly stopping: AbortSignal;
  /** Started by the supervisor. By hand there is no channel, and SIGINT drains too. */
  readonly supervised: boolean;
};

/** The whole life of a role process. Returns at once; the process ends after the drain. */
export function runRole(role: string, start: (link: ChildLink) => Promise<RunningRole>): void {
  keepFilesPrivate();
  const supervised = process.send !== undefined;
  const stopping = new AbortController();
  collectProcessMetrics(role);

  const dieOf = (what: string) => (error: unknown) => {
    log.fatal({ error: messageOf(error), stack: error instanceof Error ? error.stack : undefined }, what);
    process.exit(1);
  };
  process.on('uncaughtException', dieOf('uncaught exception'));
  process.on('unhandledRejection', dieOf('unhandled rejection'));

  const starting = settingsOf(supervised).then((env) => start({ env, stopping: stopping.signal, supervised }));
  let draining = false;

  /** Null: the role's own deadline. */
  const drain = async (why: string, givenMs: number | null) => {
    if (draining) return;
    draining = true;
    stopping.abort(new Error(why));
    try {
      // A role that is not ready holds nothing to drain: its start gets a moment to finish, then the process exits.
      const patienceMs = Math.min(givenMs ?? limits.supervision.drainMs, limits.supervision.unreadyDrainMs);
      const running = await withDeadline(`start of ${role}`, patienceMs, starting).catch((error: unknown) => {
        ignoring(error, 'stopped while it was starting: there is nothing to drain');
        return process.exit(1);
      });
      const deadlineMs = givenMs ?? running.drainMs?.() ?? limits.supervision.drainMs;
      log.info({ why, deadlineMs }, 'draining');
      await withDeadline(`drain of ${role}`, deadlineMs, running.drain(deadlineMs));
      log.info('drained');
      process.exit(0);
    } catch (error) {
      log.error({ error: messageOf(error) }, 'drain failed');
      process.exit(1);
    }
  };

  // The terminal sends Ctrl-C to the whole group, but the supervisor orders the drain.
  process.on('SIGINT', () => {
    if (!supervised) void drain('SIGINT', null);
  });
  process.on('SIGTERM', () => void drain('SIGTERM', null));
  process.on('disconnect', () => void drain('the supervisor is gone', limits.supervision.orphanDrainMs));
  process.on('message', (message: ToChild) => {
    if (message.type === 'drain') void drain('the supervisor requested it', message.deadlineMs);
    if (message.type === 'configure') void starting.then((running) => configure(running, message.configuration));
    if (message.type === 'ask') void starting.then((running) => answer(running, message.id));
  });

  starting.then(
    (running) => {
      log.info('ready');
      send({ type: 'ready', ready: running.ready ?? {} });
      if (supervised) reportHealth(running);
    },
    (error: unknown) => {
      // A drain during the start aborts it; that is no failure.
      if (draining) return;
      const [why, fix] = [messageOf(error), error instanceof SetupError];
      // The supervisor reports, once, what a person must change.
      if (!fix || !supervised)
        log.fatal({ error: why, stack: error instanceof Error ? error.stack : undefined }, 'cannot start');
      send({ type: 'failed', why, fix, badConfiguration: error instanceof BadConfiguration }, () => process.exit(1));
    },
  );
}

/** Node.js keeps messages that arrive before there is a listener. */
function settingsOf(supervised: boolean): Promise<ChildLink['env']> {
  if (!supervised) return Promise.resolve(process.env);
  return new Promise((resolve) => {
    const take = (message: ToChild) => {
      if (message.type !== 'settings') return;
      process.off('message', take);
      resolve(message.env);
    };
    process.on('message', take);
  });
}

/** A failure here takes effect at the next start, when the supervisor passes the new configuration. */
async function configure(running: RunningRole, configuration: Configuration): Promise<void> {
  try {
    await running.configure?.(configuration);
  } catch (error) {
    metrics.configReloadFailed.inc();
    log.error(
      { alarm: 'config_reload_failed', error: messageOf(error) },
      'a changed configuration is not in effect in this role',
    );
  }
}

async function answer(running: RunningRole, id: number): Promise<void> {
  try {
    const own = await currentMetrics();
    const threads = (await running.metrics?.()) ?? [];
    send({ type: 'metrics', id, metrics: [own, ...(threads.length > 0 ? [threads] : [])] });
  } catch (error) {
    ignoring(error, 'the next scrape asks again');
    send({ type: 'metrics', id, metrics: [] });
  }
}

/**
 * Sends the health once a second, so that /health/ready answers without asking the child, and the supervisor knows that its event
 * loop turns. While the supervisor itself stands still nothing more is queued for it.
 */
function reportHealth(running: RunningRole): void {
  let sending = false;
  const report = () => {
    if (sending) return;
    sending = true;
    send({ type: 'health', ...(running.health?.() ?? { ok: true, detail: '' }) }, () => {
      sending = false;
    });
  };
  report();
  systemClock.every(limits.supervision.healthEveryMs, report);
}

/** `then` runs when the message was sent, or when there is no supervisor. */
function send(message: FromChild, then: () => void = () => {}): void {
  if (process.send === undefined || !process.connected) return then();
  try {
    process.send(message, undefined, {}, (error) => {
      if (error !== null) ignoring(error, 'the supervisor is gone');
      then();
    });
  } catch (error) {
    ignoring(error, 'the supervisor is gone');
    then();
  }
}
