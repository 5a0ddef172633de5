// Where chDB keeps its files below the data directory. One process may open it at a time: the analytics role while it
// runs, anything else after it stopped.
import { join } from 'node:path';

export function clickhouseDir(dataDir: string): string {
  return join(dataDir, 'clickhouse');
}
