// Whether a nats-server has stopped writing a stream. nats-server 2.15.1 takes nothing more for a stream whose file could not be
// written once (disk full), also when there is space again. It says so in its log, and in its health, which only a user of the
// system account may ask: with a user of that account, 2.9.10 takes connections without a key. The log may be on the same full
// disk and lack that line; then it says of each record that it was not stored, which is only meaningful once there is space.
import { closeSync, openSync, readSync, statSync, statfsSync } from 'node:fs';
import { limits } from '../../platform/limits.ts';

const criticalError = /\[ERR\].*critical write error.*/i;
/** Not said of a stream that is at its limit. */
const notStored = /\[ERR\].*failed to store a msg.*/i;
const lookBytesMax = 1024 * 1024;
const lineBytesMax = 1_000;

/**
 * Reads what is added to the log from now on. Returns the first line that says so at any later call; null: none so far.
 * `hasSpace`: on the disk of the streams.
 */
export function writeErrorsIn(logFile: string, hasSpace: () => boolean): () => string | null {
  const size = () => statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  let begin = size();
  let place = begin;
  let found: string | null = null;
  return () => {
    const end = size();
    if (end < place) begin = place = 0; // it was truncated
    if (found !== null || end === place) return found;
    // A line may lie across the last look and this one.
    const from = Math.max(begin, place - lineBytesMax);
    const octets = Buffer.alloc(Math.min(end - from, lookBytesMax));
    const file = openSync(logFile, 'r');
    try {
      readSync(file, octets, 0, octets.length, from);
    } finally {
      closeSync(file);
    }
    place = from + octets.length;
    const added = octets.toString();
    found = (criticalError.exec(added) ?? (hasSpace() ? notStored.exec(added) : null))?.[0] ?? null;
    return found;
  };
}

export function hasSpaceIn(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= limits.supervision.natsWatch.spaceBytesMin;
}
