// The output of set-up: one line per step on standard error, so that a command's own output stays clean, progress every
// few seconds in long steps, and one clear sentence when something is not available.

/** A person must act; `message` says how in one sentence. */
export class SetupFailed extends Error {
  constructor(message, cause) {
    super(message, { cause });
    this.name = 'SetupFailed';
  }
}

/** @param {string} text */
export function say(text) {
  process.stderr.write(`${text}\n`);
}

/**
 * Runs one step and reports when it begins, every five seconds while it runs, and how long it took.
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(what, work) {
  const beganAt = Date.now();
  const seconds = () => ((Date.now() - beganAt) / 1_000).toFixed(0);
  say(`… ${what}`);
  const timer = setInterval(() => say(`… ${what} (${seconds()} s)`), 5_000);
  try {
    const result = await work();
    say(`✓ ${what} (${seconds()} s)`);
    return result;
  } finally {
    clearInterval(timer);
  }
}
