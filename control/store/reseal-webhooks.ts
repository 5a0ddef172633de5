// Seals the secrets of webhook endpoints again after the body key was rotated: messages that an old key sealed are gone
// after some weeks, but an endpoint stays for years, and the old key would have to stay with it.
import { openWebhookSecrets, sealWebhookSecrets } from '../../model/webhook-secrets.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { bodyKeyIdOctets } from '../../model/records/body-keys.ts';
import type { WebhookEndpointId } from '../../model/ids.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { type Store, project, transaction } from './store.ts';

/** Runs at every start. Returns how many were sealed again; one whose key nobody has any more is left as it is. */
export async function resealWebhooks(store: Store, cipher: BodyCipher): Promise<number> {
  const now = keyOf(cipher.seal(new Uint8Array(0), '').toString('base64'));
  let count = 0;
  let after = '' as WebhookEndpointId;
  for (;;) {
    const rows = await store.db
      .selectFrom('webhook_endpoints')
      .select(['id', 'account_id', 'sealed_secrets'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(limits.directory.outboxBatchMax)
      .execute();
    const last = rows.at(-1);
    if (last === undefined) return count;
    after = last.id;
    for (const { id, account_id, sealed_secrets: sealed } of rows) {
      const again = keyOf(sealed) === now ? null : resealed(id, sealed, cipher);
      if (again === null) continue;
      count += await transaction(store, async (tx) => {
        const { numUpdatedRows } = await tx
          .updateTable('webhook_endpoints')
          .set({ sealed_secrets: again })
          .where('id', '=', id)
          // A client that rotated the secret meanwhile has had it sealed with a key of today.
          .where('sealed_secrets', '=', sealed)
          .executeTakeFirst();
        if (numUpdatedRows > 0n) await project(tx, [{ entity: 'webhook', entityId: `${account_id}.${id}` }]);
        return Number(numUpdatedRows);
      });
    }
  }
}

const keyOf = (sealed: string) => Buffer.from(sealed, 'base64').toString('hex', 0, bodyKeyIdOctets);

function resealed(id: WebhookEndpointId, sealedSecrets: string, cipher: BodyCipher): string | null {
  try {
    return sealWebhookSecrets(openWebhookSecrets({ id, sealedSecrets }, cipher), id, cipher);
  } catch (error) {
    log.warn(
      { endpointId: id, error: messageOf(error) },
      'the secrets of a webhook endpoint cannot be opened: its owner must rotate them',
    );
    return null;
  }
}
