// What is kept of a record that a consumer delivered until it is acked: where it came from and where its ack goes. The client's
// own message is a handful of objects and keeps in memory all octets that were read with it from the socket; a record that waits
// for its carrier's pacing would do so for seconds.
import type { JsMsg } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

/** Acks as the client's message does: what follows an ack or a nak is left out, and after the connection's end nothing is sent. */
export type DeliveredRecord = Pick<JsMsg, 'subject' | 'ack' | 'nak' | 'working'>;

const nanosPerMs = 1_000_000;

export function deliveredRecord(record: JsMsg, connection: NatsConnection): DeliveredRecord {
  return new Delivered(record, connection);
}

class Delivered implements DeliveredRecord {
  readonly subject: string;
  readonly #reply: string;
  readonly #connection: NatsConnection;
  #isOver = false;

  constructor(record: JsMsg, connection: NatsConnection) {
    this.subject = record.subject;
    this.#reply = (record as JsMsg & { readonly reply: string }).reply;
    this.#connection = connection;
  }

  ack(): void {
    this.#end('+ACK');
  }

  nak(afterMs = 0): void {
    this.#end(afterMs === 0 ? '-NAK' : `-NAK ${JSON.stringify({ delay: afterMs * nanosPerMs })}`);
  }

  working(): void {
    if (!this.#isOver) this.#send('+WPI');
  }

  #end(answer: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#send(answer);
  }

  #send(answer: string): void {
    if (!this.#connection.isClosed()) this.#connection.publish(this.#reply, answer);
  }
}
