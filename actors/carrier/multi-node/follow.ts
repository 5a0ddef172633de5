// Reads a carrier's events while its actor runs, from its replay floor on: it shows what other nodes write, in the
// stream's order, which is the same for all. Used only where nodes share a carrier; on a single node replay.ts reads
// once.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { type CarrierEvents, learnRecord, readCarrierEvents } from '../deduplication/replay.ts';
import type { EventPosition } from '../deduplication/replay-index.ts';

export type FollowParts = CarrierEvents & {
  /** The id of this actor's event writer, by which its own batches are recognised. */
  readonly writerId: string;
  /** Each event once, in stream order. `isOwn`: this actor has written it. */
  readonly learn: (event: DeliveryEvent, isOwn: boolean, place: EventPosition) => void;
};

export type Following = {
  /** An event that must be there has not arrived: recreates the consumer after the last one read. */
  again(): void;
  /** Up to which sequence everything was read; Infinity at the end of the stream. Rejects when that is not known. */
  readTo(): Promise<number>;
  stop(): Promise<void>;
};

/** Resolves when everything that was there has been learnt; then it continues. */
export async function followEvents({ writerId, learn, ...from }: FollowParts): Promise<Following> {
  const { clock = systemClock } = from;
  const ownPrefix = `${writerId}.`;
  const reader = await readCarrierEvents(from, 'follower', (record) => {
    const isOwn = record.headers?.get('Nats-Msg-Id').startsWith(ownPrefix) === true;
    learnRecord(record, (event, place) => learn(event, isOwn, place));
    return undefined;
  });
  return {
    again: () => reader.reopen(),
    async readTo() {
      const { seq } = reader.position;
      const waiting = await reader.waiting(limits.carrier.floorTimeoutMs);
      return waiting === 0 ? Number.POSITIVE_INFINITY : seq;
    },
    async stop() {
      reader.stop();
      await Promise.race([reader.done, clock.sleep(2_000)]);
    },
  };
}
