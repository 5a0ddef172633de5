// After the last test of every file nothing that it opened may be open: neither sockets nor child processes nor threads
// nor repeated timers. A consumer of a stream is a subscription of a connection and a timer that watches its heartbeats:
// whoever leaves one open leaves those. One-shot timers are not looked at: each ends by itself, and the deadline of a
// request that nobody waits for any more cannot be told from a leak.
import { afterAll, expect } from 'vitest';
import { DeadlineExceeded, until } from '../../platform/deadline.ts';
import { watchOpenResources } from './open-resources.ts';

/** What was asked to end may take so long on a busy machine; what was not does not end at all. */
const endsWithinMs = 10_000;

const resources = watchOpenResources();

// Hooks of a set-up file come before those of the test file, so this one runs after all of them.
afterAll(async () => {
  await resources.endIdleConnections();
  let open: string[] = [];
  const isEmpty = () => (open = resources.now()).length === 0;
  try {
    await until('the end of what the file opened', isEmpty, { limitMs: endsWithinMs });
  } catch (error) {
    if (!(error instanceof DeadlineExceeded)) throw error;
    throw new Error(`${expect.getState().testPath ?? 'the file'} leaves open: ${open.join('; ')}`, { cause: error });
  }
});
