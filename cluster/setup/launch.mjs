// Runs a program of the checkout under Node 22 and exits with its code. Forwards signals; the program itself handles
// getting one key press twice. What each process would do to our files again, stripping their types and compiling them,
// is kept in `.runtime`.
import { spawn } from 'node:child_process';
import { dirname, delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './setup.mjs';

const strippedTypes = `--import=${pathToFileURL(join(root, 'cluster', 'setup', 'stripped-types.mjs')).href}`;

/**
 * @param {string} node
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, channel?: boolean }} [options] channel: the program notices when we are gone
 * @returns {Promise<number>} the exit code; 128 + n for a signal
 */
export function launch(node, args, { env = {}, channel = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, args, {
      cwd: root,
      stdio: channel ? ['inherit', 'inherit', 'inherit', 'ipc'] : 'inherit',
      env: {
        NODE_COMPILE_CACHE: join(root, '.runtime', 'compile-cache'),
        ...process.env,
        ...env,
        NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${strippedTypes}`.trim(),
        PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`,
      },
    });
    const pass = (signal) => child.kill(signal);
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, pass);
    const stopWatching = watchParent(() => child.kill('SIGTERM'));
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      stopWatching();
      for (const each of signals) process.off(each, pass);
      resolve(code ?? 128 + ({ SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }[signal] ?? 0));
    });
  });
}

/** A killed npm (kill -9) forwards no signal: its child must notice by itself. */
function watchParent(gone) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    gone();
  }, 1_000);
  return () => clearInterval(timer);
}
