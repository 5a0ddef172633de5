// Versions before decision 254 had a stream WEBHOOKS between EVENTS and the endpoints. What such a version left there goes to the
// lines of its endpoints, while new events are sent already; then the stream is removed.
import type { Bus } from '../../../cluster/bus/connect.ts';
import { isApiError, streamNotFound } from '../../../cluster/bus/api-errors.ts';
import type { Directory } from '../../../directory/contract.ts';
import { type WebhookRecord, decodeWebhook } from '../../../model/records/webhook-record.ts';
import type { Clock } from '../../../platform/clock.ts';
import { untilDone, withDeadline } from '../../../platform/deadline.ts';
import { ignoring, messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import type { ParkedLog } from './parked-log.ts';

type Parts = {
  readonly bus: Bus;
  readonly directory: Directory;
  readonly parked: ParkedLog;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
};

const stream = 'WEBHOOKS';

/** Resolves when nothing is left there, or when the process stops. */
export async function emptyFormerQueue(parts: Parts): Promise<void> {
  const { stopping, clock } = parts;
  const failed = (error: string) => log.warn({ error }, 'the former queue of webhooks is read again');
  const moving = new Map<number, Promise<unknown>>();
  const move = () => moveAll(parts, moving).then(() => true);
  const isDone = await untilDone(move, failed, { everyMs: limits.delivery.answerMs, stopping, clock });
  if (isDone !== null && moving.size > 0)
    log.info({ events: moving.size }, 'events of the former queue are in the lines');
}

/** A record is removed when it is in its line. `moving`: those that are on their way, also of an earlier try. */
async function moveAll(
  { bus, directory, parked, clock, stopping }: Parts,
  moving: Map<number, Promise<unknown>>,
): Promise<void> {
  const { streams } = bus.manager;
  const answered = <T>(work: Promise<T>) => withDeadline('the former queue', limits.delivery.answerMs, work, clock);
  const removed = (seq: number) =>
    streams.deleteMessage(stream, seq, false).catch((error: unknown) => ignoring(error, 'it goes with the stream'));
  try {
    for (let seq = 1; ; seq += 1) {
      await parked.room(stopping);
      stopping.throwIfAborted();
      const next = { seq, next_by_subj: '>' };
      const stored = await answered(streams.getMessage(stream, next));
      if (stored === null) break;
      ({ seq } = stored);
      if (moving.has(seq)) continue;
      const record = read(stored.data, seq);
      const endpoint = record === null ? undefined : directory.webhookEndpoint(record.endpointId);
      // It was deleted: nobody wants its events.
      if (record === null || endpoint === undefined) continue;
      const parking = new Promise((resolve) => parked.park(endpoint.accountId, record, resolve));
      moving.set(
        seq,
        parking.then(() => removed(stored.seq)),
      );
    }
    await Promise.all(moving.values());
    await answered(streams.delete(stream));
  } catch (error) {
    if (!isApiError(error, streamNotFound)) throw error;
  }
}

function read(octets: Uint8Array, seq: number): WebhookRecord | null {
  try {
    return decodeWebhook(octets);
  } catch (error) {
    log.error({ alarm: 'webhook_dropped', seq, error: messageOf(error) }, 'a record of WEBHOOKS cannot be read');
    return null;
  }
}
