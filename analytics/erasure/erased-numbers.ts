// The numbers that were erased, by their keyed hash. What was accepted before an erasure is not recorded after it: a
// receipt may come days later, and an event may be published a second time. Of what is left out the message is noted, for
// the codes and clicks of its links (row-eraser.ts).
import type { Erasure } from '../../cluster/bus/erasures.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { type NumberHash, hashText } from '../../model/number-hash.ts';
import { tsvRow, tsvTime } from '../store/tab-separated.ts';

type Erased = Pick<Erasure, 'accountId' | 'atMs'>;

export class ErasedNumbers {
  readonly #byHash = new Map<string, Erased[]>();

  add({ hash, accountId, atMs }: Erasure): void {
    const known = this.#byHash.get(hash);
    if (known === undefined) this.#byHash.set(hash, [{ accountId, atMs }]);
    else if (!known.some((each) => each.accountId === accountId && each.atMs === atMs)) known.push({ accountId, atMs });
  }

  covers(hash: NumberHash, { accountId, acceptedAtMs }: Pick<DeliveryEvent, 'accountId' | 'acceptedAtMs'>): boolean {
    if (this.#byHash.size === 0) return false;
    const erased = this.#byHash.get(hashText(hash));
    if (erased === undefined) return false;
    return erased.some((each) => acceptedAtMs <= each.atMs && (each.accountId ?? accountId) === accountId);
  }
}

export const erasedMessages = 'erased_messages (message_id, recipient_hash, account_id, accepted_at)';

export function erasedMessageRow(
  hash: string,
  { messageId, accountId, acceptedAtMs }: Pick<DeliveryEvent, 'messageId' | 'accountId' | 'acceptedAtMs'>,
): string {
  return tsvRow([messageId, hash, accountId, tsvTime(acceptedAtMs)]);
}
