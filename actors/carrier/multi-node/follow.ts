// Reads a carrier's events as long as its actor lives, beginning at its replay floor: what other nodes write about
// messages they hold is known here a moment later, and the order is that of the stream, the same for everybody. Only
// where nodes share a carrier; alone, replay.ts reads them once. It learns nothing itself.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { type CarrierEvents, learnRecord, readCarrierEvents } from '../deduplication/replay.ts';
import type { EventPosition } from '../deduplication/replay-index.ts';

export type FollowParts = CarrierEvents & {
  /** The events' writer of this actor: its batches are known by their ids. */
  readonly writerId: string;
  /** Each event once, in stream order. `isOwn`: this actor has written it itself. */
  readonly learn: (event: DeliveryEvent, isOwn: boolean, place: EventPosition) => void;
};

export type Following = {
  /** Something that must be there has not come: the consumer is recreated behind what was read. */
  again(): void;
  /** Up to which sequence everything was read; Infinity when it is all there is. Rejects when nobody can say. */
  readTo(): Promise<number>;
  stop(): Promise<void>;
};

/** Resolves when everything that was there has been learnt; then it goes on. */
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
