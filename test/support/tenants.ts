// Tenants as in the database, for tests that only need one: a refusal throws.
import { createAccount } from '../../control/store/accounts.ts';
import { type NewKey, createKey } from '../../control/store/api-keys.ts';
import type { SenderStatus } from '../../control/store/schema.ts';
import { createSender } from '../../control/store/senders.ts';
import type { Store } from '../../control/store/store.ts';
import type { AccountId, ApiKeyId, SenderId } from '../../model/ids.ts';

export async function newAccount(store: Store, name = 'Test'): Promise<AccountId> {
  const made = await createAccount(store, { name });
  if (!made.ok) throw new Error(made.code);
  return made.account.id;
}

/** A live key that may send, by default. */
export async function newKey(
  store: Store,
  accountId: AccountId,
  wanted: Partial<NewKey> = {},
): Promise<{ id: ApiKeyId; token: string }> {
  const made = await createKey(store, { accountId, livemode: true, scopes: ['sms:send'], ...wanted });
  if (!made.ok) throw new Error(made.code);
  return { id: made.key.id, token: made.token };
}

export async function newSender(
  store: Store,
  accountId: AccountId,
  name: string,
  status: SenderStatus = 'pending',
): Promise<SenderId> {
  const made = await createSender(store, { accountId, name, status });
  if (!made.ok) throw new Error(made.code);
  return made.sender.id;
}
