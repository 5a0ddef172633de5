// Where receipts without a match wait: LATER, then back to this carrier over INBOUND for another look. A
// parked receipt is small and holds no text of the message.
import type { Bus } from '../../../cluster/bus/connect.ts';
import { type Consumption, consumeStream } from '../../../cluster/bus/consume.ts';
import { moveToDead } from '../../../cluster/bus/dead.ts';
import { publishLater } from '../../../cluster/bus/later.ts';
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import { inboundConsumer, streamNames } from '../../../cluster/bus/streams.ts';
import { inboundSubject } from '../../../cluster/bus/subjects.ts';
import type { Clock } from '../../../platform/clock.ts';
import { messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { commandStatus } from '../../../smpp/command-status.ts';
import type { KnownReceipt } from './receipt-numbers.ts';
import type { Respond } from './receipts.ts';

type ParkedReceipt = { readonly kind: 'receipt'; readonly receipt: KnownReceipt; readonly waits: number };

export type ParkingParts = {
  readonly bus: Bus;
  readonly publisher: Publisher;
  readonly carrier: string;
  readonly clock: Clock;
};

const encoder = new TextEncoder();

/** Parks one receipt; `done(true)` when LATER holds it. */
export function parkReceipt(
  parts: ParkingParts,
  receipt: KnownReceipt,
  waits: number,
  done: (safe: boolean) => void,
): void {
  const { publisher, carrier, clock } = parts;
  const parked: ParkedReceipt = { kind: 'receipt', receipt, waits: waits + 1 };
  const nowMs = clock.nowMs();
  const dueAtMs = nowMs + (limits.carrier.parkedReceiptWaitsMs[waits] ?? 0);
  const record = {
    subject: inboundSubject(carrier),
    payload: encoder.encode(JSON.stringify(parked)),
    dueAtMs,
    // The id is a header: a carrier's octets may hold what no header can.
    id: `receipt.${carrier}.${encodeURIComponent(receipt.carrierMessageId)}.${receipt.state}.${waits}`,
    shardKey: receipt.carrierMessageId,
  };
  publishLater(publisher, record, nowMs, (result) => done(result.ok));
}

/** Hands back what was parked, one by one. */
export function takeParked(
  parts: ParkingParts,
  take: (receipt: KnownReceipt, respond: Respond, waits: number) => void,
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
      } catch (error) {
        return moveToDead(publisher, record, streamNames.inbound, messageOf(error));
      }
      const { receipt, waits } = parked;
      take(receipt, (status) => (status === commandStatus.ESME_ROK ? record.ack() : record.nak(1_000)), waits);
    },
  });
}
