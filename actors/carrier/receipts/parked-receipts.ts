// Parks receipts without a match in LATER; they return to this carrier over INBOUND and are matched again. A parked
// receipt holds no text of the message.
import type { Bus } from '../../../cluster/bus/connect.ts';
import { type Consumption, consumeStream } from '../../../cluster/bus/consume.ts';
import { moveToDead } from '../../../cluster/bus/dead-letter.ts';
import { publishLater } from '../../../cluster/bus/later.ts';
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import { inboundConsumer, streamNames } from '../../../cluster/bus/streams.ts';
import { inboundSubject } from '../../../cluster/bus/subjects.ts';
import type { Clock } from '../../../platform/clock.ts';
import { messageOf } from '../../../platform/errors.ts';
import { commandStatus } from '../../../model/command-status.ts';
import type { Respond } from '../../../smpp/session-contract.ts';
import type { KnownReceipt, Parked } from './receipts.ts';

type ParkedReceipt = { readonly kind: 'receipt'; readonly receipt: KnownReceipt } & Parked;

export type ParkingParts = {
  readonly bus: Bus;
  readonly publisher: Publisher;
  readonly carrier: string;
  readonly clock: Clock;
};

const encoder = new TextEncoder();

/** Parks one receipt; `done(true)` when it is durable in LATER. */
export function parkReceipt(
  parts: ParkingParts,
  receipt: KnownReceipt,
  parked: Parked,
  delayMs: number,
  done: (safe: boolean) => void,
): void {
  const { publisher, carrier, clock } = parts;
  const content: ParkedReceipt = { kind: 'receipt', receipt, ...parked };
  const nowMs = clock.nowMs();
  // Carriers reuse ids: only with its recipient does an id identify a receipt. Encoded, because it becomes a header.
  const whose = [receipt.carrierMessageId, receipt.recipient, receipt.state].map(encodeURIComponent).join('.');
  const record = {
    subject: inboundSubject(carrier),
    payload: encoder.encode(JSON.stringify(content)),
    dueAtMs: nowMs + delayMs,
    id: `receipt.${carrier}.${whose}.${parked.waits}.${parked.unanswered}`,
    shardKey: receipt.carrierMessageId,
  };
  publishLater(publisher, record, nowMs, (result) => done(result.ok));
}

/** Delivers returned receipts one by one. */
export function takeParked(
  parts: ParkingParts,
  take: (receipt: KnownReceipt, respond: Respond, parked: Parked) => void,
): Promise<Consumption> {
  const { bus, publisher, carrier, clock } = parts;
  return consumeStream(bus, {
    stream: streamNames.inbound,
    consumer: inboundConsumer(carrier),
    prefetch: 64,
    clock,
    onPoison: (record, reason) => moveToDead(publisher, record, streamNames.inbound, reason),
    handle: (record) => {
      let parked: ParkedReceipt;
      try {
        parked = record.json<ParkedReceipt>();
        if (parked.kind !== 'receipt') throw new Error(`an inbound record of kind ${String(parked.kind)}`);
        const { carrierMessageId, recipient, sender } = parked.receipt;
        for (const each of [carrierMessageId, recipient, sender]) {
          if (typeof each !== 'string') throw new Error('a parked receipt without its id or its numbers');
        }
        for (const each of [parked.waits, parked.unanswered, parked.sinceMs]) {
          if (!Number.isFinite(each)) throw new Error('a parked receipt without its waiting time');
        }
      } catch (error) {
        return moveToDead(publisher, record, streamNames.inbound, messageOf(error));
      }
      const { receipt, waits, unanswered, sinceMs } = parked;
      const respond = (status: number) => (status === commandStatus.ESME_ROK ? record.ack() : record.nak(1_000));
      take(receipt, respond, { waits, unanswered, sinceMs });
    },
  });
}
