// Reads the events of messages from ClickHouse. Questions that come while another is running share the next
// statement, so a crowd that polls its messages costs one look-up for a hundred of them.
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { limits } from '../../platform/limits.ts';
import type { Engine } from '../store/engine.ts';
import { eventColumns, eventOfRow, eventOrder } from '../store/event-row.ts';

export type MessageKey = { readonly accountId: string; readonly messageId: string };

/** Events in stream order, by message id; a message that is not recorded is missing. */
export type EventsByMessage = ReadonlyMap<string, readonly DeliveryEvent[]>;

type Asked = {
  readonly key: MessageKey;
  readonly resolve: (events: readonly DeliveryEvent[]) => void;
  readonly reject: (error: unknown) => void;
};

export class RecordedEvents {
  readonly #engine: Engine;
  /** Bounded by the questions the answerer lets in. */
  #waiting: Asked[] = [];
  #running = false;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The recorded events of one message of this account, in stream order. */
  of(key: MessageKey): Promise<readonly DeliveryEvent[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject });
      if (!this.#running) void this.#run();
    });
  }

  async ofMany(keys: readonly MessageKey[]): Promise<EventsByMessage> {
    const found = new Map<string, DeliveryEvent[]>();
    if (keys.length === 0) return found;
    const accountIds = [...new Set(keys.map(({ accountId }) => accountId))];
    const messageIds = [...new Set(keys.map(({ messageId }) => messageId))];
    const rows = await this.#engine.rows(
      `SELECT ${eventColumns} FROM sms_events
       WHERE account_id IN {accountIds:Array(String)} AND message_id IN {messageIds:Array(String)}
       ORDER BY ${eventOrder}`,
      { accountIds, messageIds },
    );
    for (const row of rows) {
      const event = eventOfRow(row);
      const events = found.get(event.messageId);
      if (events === undefined) found.set(event.messageId, [event]);
      else events.push(event);
    }
    return found;
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      const asked = this.#waiting.splice(0, limits.queries.messagesPerReadMax);
      try {
        const found = await this.ofMany(asked.map(({ key }) => key));
        for (const { key, resolve } of asked) {
          // Another account's message is not there for this one.
          resolve((found.get(key.messageId) ?? []).filter(({ accountId }) => accountId === key.accountId));
        }
      } catch (error) {
        for (const { reject } of asked) reject(error);
      }
    }
    this.#running = false;
  }
}
