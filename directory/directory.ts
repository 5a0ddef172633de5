// The in-memory directory of an entry point or of the carriers: tenants from one bucket and suppressed numbers from
// another, combined into the answers the gates need. watched-bucket.ts keeps memory up to date.
import type { AccountId } from '../model/ids.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { metrics } from '../platform/telemetry.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { numberKey } from '../cluster/bus/installation-secret.ts';
import { NumberHashes } from '../model/number-hash.ts';
import type { Directory } from './contract.ts';
import { Suppressed } from './suppressed.ts';
import { entityKinds } from './tenant-entities.ts';
import { Tenants } from './tenants.ts';
import { WatchedBucket } from './watched-bucket.ts';

/** Resolves when both buckets are in memory; from then on a change is in effect some milliseconds after its put. */
export async function openDirectory(bus: Bus, clock: Clock = systemClock): Promise<Directory> {
  const numbers = new NumberHashes(await numberKey(bus));
  const suppressed = new WatchedBucket(
    bus,
    'suppression',
    () => new Suppressed((to) => numbers.erasedKeyOf(to)),
    notifySuppressed,
    clock,
  );
  const suppressionsOf = (accountId: AccountId) => ({
    has: (to: string, sender: string, category: 'otp' | 'transactional' | 'promotional') =>
      suppressed.state.has(accountId, to, sender, category),
  });
  const tenants = new WatchedBucket(bus, 'directory', () => new Tenants(suppressionsOf), notifyTenants, clock);
  // The numbers first: an account must not be known before its suppressed numbers.
  await suppressed.start();
  await tenants.start().catch(async (error: unknown) => {
    await suppressed.close();
    throw error;
  });
  return {
    authenticate: (token) => tenants.state.authenticate(token, clock.nowMs()),
    account: (accountId) => tenants.state.account(accountId),
    webhookEndpoint: (id) => tenants.state.webhookEndpoint(id),
    ownersOf: (digits) => tenants.state.ownersOf(digits),
    state: () => ({
      keys: tenants.state.count('key'),
      accounts: tenants.state.count('account'),
      webhooks: tenants.state.count('webhook'),
      watching: tenants.watching && suppressed.watching,
    }),
    async close() {
      await Promise.all([tenants.close(), suppressed.close()]);
    },
  };
}

function notifyTenants(tenants: Tenants): void {
  for (const kind of entityKinds) metrics.directoryEntries.set({ kind }, tenants.count(kind));
}

function notifySuppressed({ count }: Suppressed): void {
  metrics.directoryEntries.set({ kind: 'suppressed number' }, count);
}
