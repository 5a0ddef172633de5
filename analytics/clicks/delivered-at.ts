// When messages were delivered, as of everything that EVENTS holds: a receipt that came before a click must not be missed
// because it is not in ClickHouse yet. A message that was delivered stays so: a preview and the tap after it ask once.
import { foldEvents } from '../../model/fold.ts';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { RotatingMap } from '../../platform/rotating-map.ts';
import { type RecordedEvents, eventsOfMany } from '../queries/recorded-events.ts';
import type { UpToDate } from '../queries/up-to-date.ts';
import type { Unflushed } from '../recorder/batch.ts';
import type { CodeOwner } from './click-rows.ts';

const { deliveredHeldMs, deliveredHeldMax } = limits.clicks;

type Sources = {
  readonly recorded: RecordedEvents;
  readonly unflushed: Unflushed;
  readonly upToDate: UpToDate;
  readonly clock: Clock;
};

/** By message id; rejects while it is not known. */
export function deliveredAtOver({ recorded, unflushed, upToDate, clock }: Sources) {
  const held = new RotatingMap<string, number>(deliveredHeldMs, deliveredHeldMax / 2, clock);
  return async (messages: readonly CodeOwner[]): Promise<ReadonlyMap<string, number>> => {
    const delivered = new Map<string, number>();
    const open = new Map<string, CodeOwner>();
    for (const message of messages) {
      const atMs = held.get(message.messageId);
      if (atMs === undefined) open.set(message.messageId, message);
      else delivered.set(message.messageId, atMs);
    }
    const unknown = [...open.values()];
    for (let from = 0; from < unknown.length; from += limits.queries.messagesPerReadMax) {
      const asked = unknown.slice(from, from + limits.queries.messagesPerReadMax);
      const answer = await upToDate.surely(() => eventsOfMany(recorded, unflushed, asked));
      if (answer.result !== 'sure') throw new Error(`receipts are not known: ${answer.detail}`);
      for (const state of answer.value.map(foldEvents)) {
        if (state?.deliveredAtMs == null) continue;
        delivered.set(state.first.messageId, state.deliveredAtMs);
        held.set(state.first.messageId, state.deliveredAtMs);
      }
    }
    return delivered;
  };
}
