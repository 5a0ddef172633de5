// Whether a nats-server has stopped writing a stream. nats-server 2.15.1 takes nothing more for a stream whose file could not be
// written once (disk full), also when there is space again. It says so in its log, and in its health, which only a user of the
// system account may ask: with a user of that account, 2.9.10 takes connections without a key.
import { closeSync, openSync, readSync, statSync } from 'node:fs';

const criticalError = /\[ERR\].*critical write error.*/i;
const lookBytesMax = 1024 * 1024;

/** Reads what is added to the log from now on. Returns the first such line at any later call; null: none so far. */
export function writeErrorsIn(logFile: string): () => string | null {
  const size = () => statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  let place = size();
  let found: string | null = null;
  return () => {
    const end = size();
    if (found !== null || end <= place) return found;
    const octets = Buffer.alloc(Math.min(end - place, lookBytesMax));
    const file = openSync(logFile, 'r');
    try {
      readSync(file, octets, 0, octets.length, end - octets.length);
    } finally {
      closeSync(file);
    }
    place = end;
    found = criticalError.exec(octets.toString())?.[0] ?? null;
    return found;
  };
}
