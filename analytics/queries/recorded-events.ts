// Reads the events of messages from ClickHouse: of one message, batched with concurrent queries, or of many.
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { Engine } from '../store/engine.ts';
import type { Turn } from '../store/fair-semaphore.ts';
import { eventColumns, eventOfRow, eventOrder } from '../store/event-row.ts';
import type { Unflushed } from '../recorder/batch.ts';
import { batchLoader } from './batch-loader.ts';

type MessageTime = { readonly messageId: string; readonly aboutMs: number };
type MessageKey = { readonly accountId: string; readonly messageId: string };

/** Events in stream order, by message id; a message that is not recorded is missing. */
type EventsByMessage = ReadonlyMap<string, readonly DeliveryEvent[]>;

export class RecordedEvents {
  readonly #engine: Engine;
  /** The recorded events of one message of this account, in stream order. */
  readonly of: (key: MessageKey) => Promise<readonly DeliveryEvent[]>;
  /** The same for display to an account: with lower priority than queries whose answer is acted on. */
  readonly shownTo: (key: MessageKey) => Promise<readonly DeliveryEvent[]>;
  /** Whether any account has a message of this id, accepted at about that time. All callers ask about young messages. */
  readonly isOfAnyAccount: (key: MessageTime) => Promise<boolean>;

  constructor(engine: Engine, clock: Clock = systemClock) {
    this.#engine = engine;
    const gather = () => clock.sleep(limits.queries.gatherMs);
    const inTurn = (turn: Turn) => {
      const read = async (keys: readonly MessageKey[]) => {
        const found = await this.ofMany(keys, turn);
        // Messages of other accounts are excluded.
        const ofKey = ({ messageId, accountId }: MessageKey) =>
          (found.get(messageId) ?? []).filter((event) => event.accountId === accountId);
        return keys.map(ofKey);
      };
      return batchLoader(limits.queries.messagesPerReadMax, read, turn === 'account' ? gather : null, clock);
    };
    this.of = inTurn('system');
    this.shownTo = inTurn('account');
    this.isOfAnyAccount = batchLoader(
      limits.queries.messagesPerReadMax,
      async (keys) => {
        const found = await this.#ofAnyAccount(keys);
        return keys.map(({ messageId }) => found.has(messageId));
      },
      gather,
      clock,
    );
  }

  async ofMany(keys: readonly MessageKey[], turn: Turn = 'system'): Promise<EventsByMessage> {
    if (keys.length === 0) return new Map();
    const accountIds = [...new Set(keys.map(({ accountId }) => accountId))];
    const messageIds = [...new Set(keys.map(({ messageId }) => messageId))];
    const rows = await this.#engine.rows(
      `SELECT ${eventColumns} FROM sms_events
       WHERE account_id IN {accountIds:Array(String)} AND message_id IN {messageIds:Array(String)}
       ORDER BY ${eventOrder} SETTINGS max_threads = 1`,
      { accountIds, messageIds },
      limits.queries.deadlineMs,
      turn,
    );
    return Map.groupBy(rows.map(eventOfRow), ({ messageId }) => messageId);
  }

  async #ofAnyAccount(asked: readonly MessageTime[]): Promise<ReadonlySet<unknown>> {
    const times = asked.map(({ aboutMs }) => aboutMs);
    // The time bounds exclude all rows but those of a few seconds: the table is not ordered by id alone.
    const rows = await this.#engine.rows(
      `SELECT DISTINCT message_id FROM sms_events WHERE message_id IN {messageIds:Array(String)}
         AND accepted_at >= fromUnixTimestamp64Milli({fromMs:Int64})
         AND accepted_at <= fromUnixTimestamp64Milli({toMs:Int64}) SETTINGS max_threads = 1`,
      {
        messageIds: asked.map(({ messageId }) => messageId),
        fromMs: Math.min(...times) - limits.queries.youngMs,
        toMs: Math.max(...times) + limits.queries.youngMs,
      },
    );
    return new Set(rows.map(([messageId]) => messageId));
  }
}

/** All events of each of these messages, recorded or held, in stream order; some twice. */
export async function eventsOfMany(
  recorded: RecordedEvents,
  unflushed: Unflushed,
  keys: readonly MessageKey[],
  turn?: Turn,
): Promise<readonly (readonly DeliveryEvent[])[]> {
  // Unflushed events first, recorded ones after: an event flushed in between is then read twice and not missed.
  const held = keys.map(({ messageId }) => unflushed.eventsOf(messageId));
  const rows = await recorded.ofMany(keys, turn);
  return keys.map(({ messageId }, at) => [...(rows.get(messageId) ?? []), ...(held[at] ?? [])]);
}
