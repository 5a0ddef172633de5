// The accounts of the installation, as commands need them that work without its database: from the directory on the bus.
import type { Bus } from '../cluster/bus/connect.ts';
import { openBucket } from '../cluster/bus/ensure.ts';
import { accountNotFound } from './tenants.ts';

export async function everyAccount(bus: Bus): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const key of await (await openBucket(bus, 'directory')).keys(keyOf('*')))
    ids.push(key.slice(keyOf('').length));
  return ids.sort();
}

/**
 * Of an account that does not exist everything is empty, and what is stored of it has no effect: a typing error shows so.
 */
export async function assertKnown(bus: Bus, accountId: string): Promise<void> {
  const entry = await (await openBucket(bus, 'directory')).get(keyOf(accountId));
  if (entry === null || entry.operation !== 'PUT') throw accountNotFound(accountId);
}

const keyOf = (accountId: string): string => `account.${accountId}`;
