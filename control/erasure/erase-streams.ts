// Removes a subscriber from the streams that keep records: what waits to be sent is canceled with an event, everything
// else of the number is overwritten in its place. What a carrier's actor has in hand is left: it goes out, or ends, as
// every message does, and its events are not recorded (analytics/erasure).
import type { StoredMsg } from '@nats-io/jetstream';
import type { Cancellations } from '../../cluster/bus/cancellations.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { Counts, Erasure } from '../../cluster/bus/erasures.ts';
import type { EventWriter } from '../../cluster/bus/event-writer.ts';
import { readLater } from '../../cluster/bus/later.ts';
import { streamNames, streamOfBucket } from '../../cluster/bus/streams.ts';
import { factSubjects } from '../../cluster/bus/subjects.ts';
import { overwriteRecord, walkStream } from '../../cluster/bus/walk-stream.ts';
import { canceledEvent } from '../../model/delivery-event.ts';
import type { Message } from '../../model/message.ts';
import type { NumberHashes } from '../../model/number-hash.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { maskNumber } from '../../platform/log.ts';
import { type Held, numbersIn } from './numbers-in-record.ts';

export type EraseStreamsParts = {
  readonly bus: Bus;
  readonly cancellations: Cancellations;
  readonly events: EventWriter;
  readonly numbers: NumberHashes;
  /** Opens what was sent to webhook endpoints. */
  readonly cipher: BodyCipher;
  readonly clock: Clock;
};

export type Erased = { readonly lookedAt: Counts; readonly removed: Counts; readonly left: Counts };

const { scheduled, holds, later } = streamNames.waiting;
/** A stream comes before those into which its readers copy what it has. */
export const streamsWithNumbers = [
  ...[scheduled, holds, later, streamOfBucket('otp'), streamNames.facts],
  ...[streamNames.webhookLog, streamNames.webhookAttempts, streamNames.dead],
];
/** Of these streams only the records of one subject have whole numbers. */
const subjectsWithNumbers: Readonly<Record<string, string>> = { [streamNames.facts]: factSubjects.otp };

export async function eraseFromStreams(parts: EraseStreamsParts, erasure: Erasure): Promise<Erased> {
  const lookedAt: Record<string, number> = {};
  const removed: Record<string, number> = {};
  const left: Record<string, number> = {};
  for (const stream of streamsWithNumbers) {
    removed[stream] = 0;
    const look = async (record: StoredMsg): Promise<void> => {
      const found = numbersIn(stream, record, parts.cipher);
      if (found === null) left['unreadable'] = (left['unreadable'] ?? 0) + 1;
      if (found === null || !found.held.some((held) => isOf(parts.numbers, erasure, held))) return;
      const ended = found.message === null || (await isCanceled(parts, stream, record, found.message));
      if (ended && (await overwriteRecord(parts.bus, stream, record.seq))) {
        removed[stream] = (removed[stream] ?? 0) + 1;
      } else left['in_flight'] = (left['in_flight'] ?? 0) + 1;
    };
    lookedAt[stream] = await walkStream(parts.bus, stream, look, subjectsWithNumbers[stream]);
  }
  return { lookedAt, removed, left };
}

function isOf(numbers: NumberHashes, { hash, accountId, atMs }: Erasure, held: Held): boolean {
  if (held.sinceMs > atMs || numbers.of(held.number) !== hash) return false;
  return accountId === null || accountId === held.accountId;
}

/** Whether nobody sends it any more. Its event is durable then. */
async function isCanceled(
  { cancellations, events, clock }: EraseStreamsParts,
  stream: string,
  record: StoredMsg,
  message: Message,
): Promise<boolean> {
  if (stream === later) return false;
  const nowMs = clock.nowMs();
  const dueAtMs = readLater({ headers: record.header })?.dueAtMs ?? 0;
  if (dueAtMs - nowMs < limits.erasure.releaseAheadMs) return false;
  if (stream === scheduled && (await cancellations.cancel(message.messageId, dueAtMs)) !== 'canceled') return false;
  const event = canceledEvent({ ...message, recipient: maskNumber(message.recipient) }, nowMs);
  return new Promise((resolve) => events.write(event, resolve));
}
