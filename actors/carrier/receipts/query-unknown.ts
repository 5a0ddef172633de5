// Queries the carrier (query_sm; SMPP 3.4, 4.8) about submits that were answered too late: they are `unknown`, their id
// is known, and their receipt may be lost. A final state is handled like the receipt that did not come; if that has
// come, it is a repeat.
import type { CarrierConfig } from '../../../config/configuration.ts';
import { readAs } from '../../../model/carrier-message-id.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { boundedName } from '../../../smpp/bounded-text.ts';
import type { QueryFields, ShortMessage } from '../../../smpp/pdu.ts';
import type { QueryAnswer, QueryDone } from '../../../smpp/request-window.ts';
import type { ReceiptState } from '../../../smpp/receipt.ts';
import type { Respond } from '../../../smpp/session-contract.ts';
import type { KnownReceipt } from './receipts.ts';

export type QueryUnknownParts = {
  readonly receiptId: CarrierConfig['receiptId'];
  readonly clock: Clock;
  /** False when no bind can query now. */
  readonly query: (fields: QueryFields, done: QueryDone) => boolean;
  /** The receipt that did not come; when the answer to it is not status 0 it is not durable: the query is repeated. */
  readonly onReceipt: (receipt: KnownReceipt, respond: Respond) => void;
  readonly afterMs?: readonly number[];
};

type Watched = { carrierMessageId: string; pdu: ShortMessage; recipient: string; asked: number; cancel: Cancel };

/** Retry interval while no bind can query. */
const againMs = 5_000;

export class QueryUnknown {
  readonly #parts: QueryUnknownParts;
  readonly #afterMs: readonly number[];
  readonly #watched = new Map<string, Watched>();
  #closed = false;

  constructor(parts: QueryUnknownParts) {
    this.#parts = parts;
    this.#afterMs = parts.afterMs ?? limits.carrier.queryAfterMs;
  }

  get size(): number {
    return this.#watched.size;
  }

  /** A late answer contained this id. `pdu`: its submit; `recipient` in E.164. */
  watch(carrierMessageId: string, pdu: ShortMessage, recipient: string): void {
    if (this.#closed || carrierMessageId === '' || this.#watched.has(carrierMessageId)) return;
    if (this.#watched.size >= limits.carrier.queriedSubmitsMax) this.#forget(this.#watched.keys().next().value!);
    const watched = { carrierMessageId, pdu, recipient, asked: 0, cancel: () => {} };
    this.#watched.set(carrierMessageId, watched);
    this.#askIn(watched, this.#afterMs[0] ?? againMs);
  }

  close(): void {
    this.#closed = true;
    for (const id of [...this.#watched.keys()]) this.#forget(id);
  }

  #askIn(watched: Watched, delayMs: number): void {
    watched.cancel = this.#parts.clock.after(delayMs, () => this.#ask(watched));
  }

  #ask(watched: Watched): void {
    const { sourceTon, sourceNpi, source } = watched.pdu;
    const fields = { messageId: watched.carrierMessageId, sourceTon, sourceNpi, source };
    if (!this.#parts.query(fields, (answer) => this.#onAnswer(watched, answer))) this.#askIn(watched, againMs);
  }

  #onAnswer(watched: Watched, answer: QueryAnswer): void {
    if (this.#watched.get(watched.carrierMessageId) !== watched) return;
    if (answer.ok && isFinal(answer.state)) {
      const receipt = this.#receiptOf(watched, answer.state, answer.errorCode);
      return this.#parts.onReceipt(receipt, (status) => {
        if (this.#watched.get(watched.carrierMessageId) !== watched) return;
        if (status === 0) this.#forget(watched.carrierMessageId);
        else this.#askIn(watched, againMs);
      });
    }
    // The session ended before the answer: this says nothing about the message.
    if (!answer.ok && answer.why === 'closed') return this.#askIn(watched, againMs);
    watched.asked += 1;
    const nextMs = this.#afterMs[watched.asked];
    if (nextMs !== undefined) return this.#askIn(watched, nextMs);
    this.#forget(watched.carrierMessageId);
    ignoring(undefined, 'the carrier does not report the state of a message; it stays unknown');
  }

  #receiptOf({ pdu, recipient, carrierMessageId }: Watched, state: ReceiptState, errorCode: number): KnownReceipt {
    return {
      carrierMessageId: boundedName(this.#inFormOfReceipts(carrierMessageId)),
      state,
      errorCode: errorCode > 0 ? String(errorCode & 0xff) : '',
      recipient,
      sender: pdu.source,
    };
  }

  /** The id is the response's; where receipts are read in another base it must be written in theirs. */
  #inFormOfReceipts(id: string): string {
    const { receiptId } = this.#parts;
    if (receiptId === 'hex') return readAs(id, 'decimal') ?? id;
    return receiptId === 'decimal' ? (readAs(id, 'hex') ?? id) : id;
  }

  #forget(id: string): void {
    this.#watched.get(id)?.cancel();
    this.#watched.delete(id);
  }
}

/** `unknown` is no news; other states are still changing. */
function isFinal(state: ReceiptState): boolean {
  return state !== 'enroute' && state !== 'accepted' && state !== 'unknown';
}
