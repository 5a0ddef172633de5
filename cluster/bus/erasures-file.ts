// The erasures in a file of the data folder, one line of JSON each, without any number. An operator keeps it when the rest of
// the folder is restored from a backup, so that the restored system carries out what was erased since.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Erasure, decodeErasure, encodeErasure } from './erasures.ts';

export const erasuresFile = (dataDir: string): string => join(dataDir, 'erasures');

/** Lines that cannot be read, such as one that was cut off by a crash, are left out. */
export function readErasuresFile(dataDir: string): readonly Erasure[] {
  const file = erasuresFile(dataDir);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((line) => {
    const job = line === '' ? null : decodeErasure(Buffer.from(line));
    return job === null ? [] : [job];
  });
}

export function addToErasuresFile(dataDir: string, { id, hash, listKey, place, accountId, atMs, by }: Erasure): void {
  if (readErasuresFile(dataDir).some((each) => each.id === id)) return;
  const line = encodeErasure({ id, hash, listKey, place, accountId, atMs, by, receipt: null });
  appendFileSync(erasuresFile(dataDir), `\n${line}\n`, { mode: 0o600, flush: true });
}
