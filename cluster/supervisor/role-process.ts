// One run of a role: a Node.js process with the messages of child-link. It has its own process group, so that Ctrl-C
// reaches only the supervisor, which then drains the roles in order.
import { type ChildProcess, fork } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { DeadlineExceeded, withDeadline } from '../../platform/deadline.ts';
import { SetupError, ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { MetricsRequests } from '../../platform/message-link.ts';
import { guard } from '../embedded/guardian.ts';
import type { Exit } from '../embedded/server-process.ts';
import { BadConfiguration } from '../../config/bad-configuration.ts';
import type { Configuration } from '../../config/configuration.ts';
import type { ManagedProcess } from './supervised-child.ts';
import type { FromChild, Health, MetricObject, ToChild } from './messages.ts';

type RoleOptions = {
  name: string;
  /** The role's file, run directly. */
  file: string;
  dataDir: string;
  pidFile: string;
  /** Readable by every process of the user. */
  env: Readonly<Record<string, string | undefined>>;
  /** Passed only to the role, over its channel. */
  settings: Readonly<Record<string, string>>;
  /** Selects the role's part of the configuration. */
  ownPart: (configuration: Configuration) => Configuration;
  nodeFlags: readonly string[];
  /** Not in the path of messages: it runs at lower priority. */
  yields: boolean;
};

export function startRole(options: RoleOptions): ManagedProcess {
  const child = fork(options.file, [`--data=${options.dataDir}`], {
    execArgv: [...options.nodeFlags],
    env: options.env,
    detached: true,
    // A role prints nothing; what a library prints goes with the logs.
    stdio: ['ignore', 2, 2, 'ipc'],
  });
  let release = () => {};
  if (child.pid !== undefined) {
    // After that time it has drained, unless it hangs.
    const graceMs = limits.supervision.orphanDrainMs + 1_000;
    release = guard({ pid: child.pid, mark: `--data=${options.dataDir}`, graceMs, signal: 'KILL' });
    if (options.yields) lowerPriority(child.pid);
    writeFileSync(options.pidFile, `${child.pid}\n`);
  }
  send(child, { type: 'settings', env: options.settings });
  let health: Health = { ok: true, detail: '' };
  let heartbeats = 0;
  const requests = new MetricsRequests<MetricObject[][]>();
  const ready = Promise.withResolvers<Record<string, unknown>>();
  ready.promise.catch((error) => ignoring(error, 'reported by the supervised child'));

  child.on('message', (message: FromChild) => {
    switch (message.type) {
      case 'ready':
        return ready.resolve(message.ready);
      case 'failed':
        if (message.badConfiguration === true) return ready.reject(new BadConfiguration([message.why]));
        return ready.reject(message.fix ? new SetupError(message.why) : new Error(message.why));
      case 'health':
        health = { ok: message.ok, detail: message.detail };
        heartbeats += 1;
        return;
      case 'metrics':
        return requests.take(message);
    }
  });
  const exited = new Promise<Exit>((resolve) => {
    const end = (exit: Exit, why: string) => {
      release();
      rmSync(options.pidFile, { force: true });
      ready.reject(new Error(why));
      resolve(exit);
    };
    child.once('exit', (code, signal) =>
      end({ code, signal }, signal === null ? `exit code ${code}` : `ended by ${signal}`),
    );
    child.on('error', (error) => {
      // Only if the process never started: errors of a running one (a message to a closed channel) end with its exit.
      if (child.pid === undefined) end({ code: 127, signal: null }, error.message);
      else ignoring(error, 'the child is exiting');
    });
  });

  return {
    pid: child.pid ?? -1,
    exited,
    ready: (limitMs) => withDeadline(`start of ${options.name}`, limitMs, ready.promise),
    health: () => health,
    heartbeats: () => heartbeats,
    async metrics() {
      const { metricsAnswerMs } = limits.supervision;
      return (await requests.ask(options.name, metricsAnswerMs, (message) => void send(child, message))) ?? [];
    },
    configure: (configuration) =>
      void send(child, { type: 'configure', configuration: options.ownPart(configuration) }),
    async stop(limitMs) {
      if (!send(child, { type: 'drain', deadlineMs: Math.max(0, limitMs - drainHeadroomMs) })) child.kill('SIGTERM');
      try {
        await withDeadline(`drain of ${options.name}`, limitMs, exited);
      } catch (error) {
        if (!(error instanceof DeadlineExceeded)) throw error;
        log.error({ child: options.name, limitMs }, 'did not drain in time, killed');
        child.kill('SIGKILL');
        await exited;
      }
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

/** The child gets a little less time than the supervisor waits, so that it reports a slow drain itself. */
export const drainHeadroomMs = 500;

function send(child: ChildProcess, message: ToChild): boolean {
  if (!child.connected) return false;
  child.send(message, (error) => {
    if (error !== null) ignoring(error, 'the child is exiting');
  });
  return true;
}

/** A third of the weight of a process at 0. */
const yieldingNice = 5;

/**
 * The recorder of events and its queries yield to what is in a message's way: an OTP does not wait behind a query.
 * Lowers the priority of a process that was just started, and of every thread and process that it starts (a thread
 * that is there already keeps its own). A process may always lower it, and never raise it again. Where Linux groups
 * processes by session, the role yields as a group too, and only while it is not late (roles/yield-processor.ts).
 */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, yieldingNice);
  } catch (error) {
    ignoring(error, 'it has ended already');
  }
}
