// The format of a data folder, as a number in its file `format`: names of streams, subjects, KV buckets and records. A
// folder of another format is refused before anything is started on it, because its queues would wait unread.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from '../../platform/errors.ts';

/** Raised with every change of a durable name or record that cannot read what was written before. */
export const dataFormat = 2;

/** Any of these holds what a system has written; folders before format 2 carried no number. */
const written = ['nats', 'postgres', 'clickhouse'];

/** Throws SetupError when the folder holds data of another format. Marks a folder that holds none. */
export function checkDataFormat(path: string): void {
  const file = formatFile(path);
  const hasData = written.some((name) => existsSync(join(path, name)));
  const found = existsSync(file) ? readFileSync(file, 'utf8').trim() : hasData ? '1' : null;
  if (found === String(dataFormat)) return;
  if (found !== null) {
    throw new SetupError(
      `The data folder ${path} has format ${found}, and this version reads format ${dataFormat} only: ` +
        `set HELIOGRAPH_DATA to a new folder, or delete this one if nothing in it is needed`,
    );
  }
  writeFileSync(file, `${dataFormat}\n`, { mode: 0o600 });
}

export const formatFile = (path: string): string => join(path, 'format');
