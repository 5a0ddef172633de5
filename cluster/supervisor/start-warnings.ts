// What is right on one machine and wrong on several, said at the start: nobody here knows how many there are. A role
// control with the wrong database is refused by cluster/directory/owner.ts instead.
import type { Settings } from '../config/settings.ts';

export function startWarnings({ roles, natsUrl, clickhouseUrl }: Settings): string[] {
  if (!roles.includes('analytics') || natsUrl === null || clickhouseUrl !== null) return [];
  return [
    'NATS_URL is set and CLICKHOUSE_URL is not: this machine keeps the history in a ClickHouse of its own. With more ' +
      'than one machine on that NATS set CLICKHOUSE_URL on all of them, or each will have only a part of it',
  ];
}
