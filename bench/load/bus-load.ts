// Offers messages to the MT streams as the entry points do, open loop: each has its intended time, whether or not the
// bus keeps up, and its text carries nonce and intended time to the SMSC peer.
import { encodeMessage } from '../../model/records/message-record.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import type { AccountQueues } from '../../cluster/bus/overflow-heartbeat.ts';
import { type AccountId, type MessageId, newMessageId } from '../../model/ids.ts';
import { laneSubject } from '../../cluster/bus/subjects.ts';
import type { Category } from '../../model/message.ts';
import { epochUs, systemClock } from '../../platform/clock.ts';
import { messageWith } from '../../test/support/messages.ts';

export type BusLoad = {
  readonly publisher: Publisher;
  readonly cipher: BodyCipher;
  readonly carrier: string;
  /** The accounts that flood a lane, as the entry points know them. */
  readonly queues: AccountQueues;
  readonly category: Category;
  /** They alternate: message n belongs to accounts[n % accounts.length]. */
  readonly accounts: readonly AccountId[];
  readonly count: number;
  /** Infinity: as fast as the bus accepts them. */
  readonly ratePerSecond: number;
  /** The nonces are firstNonce, firstNonce + 1, … */
  readonly firstNonce: number;
};

export type BusLoadResult = {
  readonly accepted: number;
  /** Messages per second that were really published, over the whole time: less than asked when the bus is slower. */
  readonly offeredPerS: number;
  /** The id of message n, once it was offered. */
  readonly messageIds: readonly MessageId[];
  /** The intended time of message n, epoch microseconds. */
  intendedUs(n: number): number;
};

/** Resolves when each is answered. */
export function offerToBus(load: BusLoad): Promise<BusLoadResult> {
  const { publisher, count, ratePerSecond } = load;
  const lane = laneSubject(load.category);
  const startMs = systemClock.monotonicMs();
  const intendedUs = (n: number) => epochUs(startMs + (n * 1_000) / ratePerSecond);
  let offered = 0;
  let answered = 0;
  const messageIds: MessageId[] = [];
  let lastOfferedMs = startMs;
  let accepted = 0;
  return new Promise((resolve) => {
    const stop = systemClock.every(1, () => {
      const due = Math.min(count, dueOf(ratePerSecond, systemClock.monotonicMs() - startMs));
      for (; offered < due && publisher.hasCapacity(lane); offered += 1) {
        lastOfferedMs = systemClock.monotonicMs();
        const messageId = newMessageId(systemClock.nowMs());
        messageIds.push(messageId);
        publishOne(load, messageId, offered, Math.round(intendedUs(offered)), (ok) => {
          answered += 1;
          if (ok) accepted += 1;
        });
      }
      if (answered < count) return;
      stop();
      resolve({ accepted, messageIds, intendedUs, offeredPerS: ((count - 1) * 1_000) / (lastOfferedMs - startMs) });
    });
  });
}

function dueOf(ratePerSecond: number, afterMs: number): number {
  return ratePerSecond === Number.POSITIVE_INFINITY ? ratePerSecond : Math.floor((afterMs * ratePerSecond) / 1_000) + 1;
}

const numbers = 10_000_000;

function publishOne(
  load: BusLoad,
  messageId: MessageId,
  n: number,
  intendedUs: number,
  done: (ok: boolean) => void,
): void {
  const nonce = load.firstNonce + n;
  const { publisher, cipher, carrier, category, accounts, queues } = load;
  const accountId = accounts[n % accounts.length] as AccountId;
  const message = messageWith({
    messageId,
    accountId,
    carrier,
    category,
    recipient: `+88017${String(numbers + (nonce % numbers))}`,
    body: { text: `Your code or parcel is on its way. #${nonce.toString(36)}@${intendedUs.toString(36)}#` },
  });
  const place = queues.placeOf(category, carrier, accountId);
  if ('full' in place) return done(false);
  publisher.publish(place.subject, encodeMessage(message, cipher), `${message.messageId}.0`, (result) =>
    done(result.ok),
  );
}
