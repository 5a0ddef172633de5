// The analytics role as a real child process, and what its store holds once it has stopped.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { clickhouseDir, type Cell, openEngine } from '../../../analytics/store/engine.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { patienceMs } from '../../support/until.ts';
import { sendSettings } from '../../support/send-settings.ts';

export type RunningRole = {
  readonly child: ChildProcess;
  /** Ends it with this signal and waits until it is gone. */
  end(signal: 'SIGTERM' | 'SIGKILL' | 'SIGABRT'): Promise<void>;
};

const role = new URL('../../../cluster/roles/analytics.ts', import.meta.url).pathname;

/** Starts the role; resolves when it says that it is ready. `spawned` gets its process before. */
export async function startRole(
  natsUrl: string,
  dataDir: string,
  more: Record<string, string> = {},
  spawned: (child: ChildProcess) => void = () => {},
): Promise<RunningRole> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', role], {
    env: { ...process.env, HELIOGRAPH_ROLE: 'analytics' },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  spawned(child);
  sendSettings(child, { NATS_URL: natsUrl, HELIOGRAPH_DATA: dataDir, ...more });
  const exited = once(child, 'exit');
  const ready = new Promise<void>((resolve, reject) => {
    child.on('message', (message: { type: string; why?: string }) => {
      if (message.type === 'ready') resolve();
      if (message.type === 'failed') reject(new Error(message.why));
    });
    void exited.then(([code, signal]) => reject(new Error(`the role ended before it was ready (${code ?? signal})`)));
  });
  ready.catch(() => child.kill('SIGKILL'));
  await withDeadline('the start of the analytics role', patienceMs, ready);
  return {
    child,
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signal);
        await withDeadline('the end of the analytics role', patienceMs, exited);
      }
    },
  };
}

/** Runs one query on the store of a role that has stopped. A fresh process: chDB binds one directory for ever. */
export async function askStore(dataDir: string, sql: string): Promise<Cell[][]> {
  const engine = openEngine({ clickhouseUrl: null, dataDir: clickhouseDir(dataDir) });
  try {
    return await engine.rows(sql, {}, 20_000);
  } finally {
    await engine.close();
  }
}
