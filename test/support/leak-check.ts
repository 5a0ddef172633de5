// After the last test of every file nothing that it opened may be open: sockets, child processes, threads or repeated
// timers. A consumer of a stream left open shows as its connection and its heartbeat timer. One-shot timers are not
// checked: each ends by itself, and the deadline of an abandoned request cannot be distinguished from a leak.
import { afterAll, expect } from 'vitest';
import { DeadlineExceeded } from '../../platform/deadline.ts';
import { until } from './until.ts';
import { watchOpenResources } from './open-resources.ts';

/** What is ending may take this long on a busy machine; a leak does not end at all. */
const endsWithinMs = 30_000;

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
  } finally {
    resources.stop();
  }
});
