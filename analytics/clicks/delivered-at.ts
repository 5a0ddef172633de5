// When messages were delivered, as of everything that EVENTS holds: a receipt that came before a click must not be missed
// because it is not in ClickHouse yet.
import { foldEvents } from '../../model/fold.ts';
import { limits } from '../../platform/limits.ts';
import type { RecordedEvents } from '../queries/recorded-events.ts';
import type { UpToDate } from '../queries/up-to-date.ts';
import type { Unflushed } from '../recorder/batch.ts';
import type { CodeOwner } from './click-rows.ts';

type Sources = { readonly recorded: RecordedEvents; readonly unflushed: Unflushed; readonly upToDate: UpToDate };

/** By message id; rejects while it is not known. */
export function deliveredAtOver({ recorded, unflushed, upToDate }: Sources) {
  return async (messages: readonly CodeOwner[]): Promise<ReadonlyMap<string, number>> => {
    const delivered = new Map<string, number>();
    for (let from = 0; from < messages.length; from += limits.queries.messagesPerReadMax) {
      const asked = messages.slice(from, from + limits.queries.messagesPerReadMax);
      const answer = await upToDate.surely(async () => {
        // First what is held: it may be in ClickHouse a moment later, and the fold drops repeats.
        const held = asked.map(({ messageId }) => unflushed.eventsOf(messageId));
        const found = await recorded.ofMany(asked);
        return asked.map(({ messageId }, at) => foldEvents([...(found.get(messageId) ?? []), ...(held[at] ?? [])]));
      });
      if (answer.result !== 'sure') throw new Error(`receipts are not known: ${answer.detail}`);
      for (const state of answer.value) {
        if (state?.deliveredAtMs != null) delivered.set(state.first.messageId, state.deliveredAtMs);
      }
    }
    return delivered;
  };
}
