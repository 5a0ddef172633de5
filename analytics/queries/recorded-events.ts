// Reads the events of messages from ClickHouse: of one message, batched with concurrent queries, or of many.
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { limits } from '../../platform/limits.ts';
import type { Engine } from '../store/engine.ts';
import type { Turn } from '../store/fair-semaphore.ts';
import { eventColumns, eventOfRow, eventOrder } from '../store/event-row.ts';
import { batchLoader } from './batch-loader.ts';

type MessageKey = { readonly accountId: string; readonly messageId: string };

/** Events in stream order, by message id; a message that is not recorded is missing. */
type EventsByMessage = ReadonlyMap<string, readonly DeliveryEvent[]>;

export class RecordedEvents {
  readonly #engine: Engine;
  /** The recorded events of one message of this account, in stream order. */
  readonly of: (key: MessageKey) => Promise<readonly DeliveryEvent[]>;
  /** The same for display to an account: with lower priority than queries whose answer is acted on. */
  readonly shownTo: (key: MessageKey) => Promise<readonly DeliveryEvent[]>;

  constructor(engine: Engine) {
    this.#engine = engine;
    const inTurn = (turn: Turn) =>
      batchLoader<MessageKey, readonly DeliveryEvent[]>(limits.queries.messagesPerReadMax, async (keys) => {
        const found = await this.ofMany(keys, turn);
        // Messages of other accounts are excluded.
        const ofKey = ({ messageId, accountId }: MessageKey) =>
          (found.get(messageId) ?? []).filter((event) => event.accountId === accountId);
        return keys.map(ofKey);
      });
    this.of = inTurn('system');
    this.shownTo = inTurn('account');
  }

  async ofMany(keys: readonly MessageKey[], turn: Turn = 'system'): Promise<EventsByMessage> {
    const found = new Map<string, DeliveryEvent[]>();
    if (keys.length === 0) return found;
    const accountIds = [...new Set(keys.map(({ accountId }) => accountId))];
    const messageIds = [...new Set(keys.map(({ messageId }) => messageId))];
    const rows = await this.#engine.rows(
      `SELECT ${eventColumns} FROM sms_events
       WHERE account_id IN {accountIds:Array(String)} AND message_id IN {messageIds:Array(String)}
       ORDER BY ${eventOrder}`,
      { accountIds, messageIds },
      limits.queries.deadlineMs,
      turn,
    );
    for (const row of rows) {
      const event = eventOfRow(row);
      const events = found.get(event.messageId);
      if (events === undefined) found.set(event.messageId, [event]);
      else events.push(event);
    }
    return found;
  }

  /** Whether any account has a message of this id, accepted at about `aboutMs`. */
  async isAnybodys(messageId: string, aboutMs: number): Promise<boolean> {
    // The time bounds exclude all rows but those of a few seconds: the table is not ordered by id alone.
    const rows = await this.#engine.rows(
      `SELECT 1 FROM sms_events WHERE message_id = {messageId:String}
         AND accepted_at >= fromUnixTimestamp64Milli({fromMs:Int64})
         AND accepted_at <= fromUnixTimestamp64Milli({toMs:Int64}) LIMIT 1 SETTINGS max_threads = 1`,
      { messageId, fromMs: aboutMs - limits.queries.youngMs, toMs: aboutMs + limits.queries.youngMs },
    );
    return rows.length > 0;
  }
}
