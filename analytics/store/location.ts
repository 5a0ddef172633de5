// The folder of chDB in the data folder. One process may open it at a time: the analytics role while it runs.
import { join } from 'node:path';

export function clickhouseDir(dataDir: string): string {
  return join(dataDir, 'clickhouse');
}
