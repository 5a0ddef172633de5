// Versions before 254 (docs/decisions) had a stream WEBHOOKS between EVENTS and the endpoints. What such a version left there
// goes to the lines of its endpoints, once; then the stream is removed.
import type { Bus } from '../../../cluster/bus/connect.ts';
import { isApiError, streamNotFound } from '../../../cluster/bus/api-errors.ts';
import type { Directory } from '../../../directory/contract.ts';
import { decodeWebhook } from '../../../model/records/webhook-record.ts';
import type { Clock } from '../../../platform/clock.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import type { ParkedLog } from './parked-log.ts';

const stream = 'WEBHOOKS';

/** Resolves when nothing is left there. Rejects when the bus does not answer: it is begun again with the process's work. */
export async function emptyFormerQueue(bus: Bus, directory: Directory, parked: ParkedLog, clock: Clock): Promise<void> {
  const { streams } = bus.manager;
  const answered = <T>(work: Promise<T>) => withDeadline('the former queue', limits.delivery.answerMs, work, clock);
  let moved = 0;
  try {
    for (let seq = 1; ; seq += 1) {
      const next = { seq, next_by_subj: '>' };
      const stored = await answered(streams.getMessage(stream, next));
      if (stored === null) break;
      ({ seq } = stored);
      try {
        const record = decodeWebhook(stored.data);
        const endpoint = directory.webhookEndpoint(record.endpointId);
        // It was deleted: nobody wants its events.
        if (endpoint === undefined) continue;
        await new Promise((resolve) => parked.park(endpoint.accountId, record, resolve));
        moved += 1;
      } catch (error) {
        log.error({ alarm: 'webhook_dropped', seq, error: messageOf(error) }, 'a record of WEBHOOKS cannot be read');
      }
    }
    await answered(streams.delete(stream));
  } catch (error) {
    if (isApiError(error, streamNotFound)) return;
    throw error;
  }
  if (moved > 0)
    log.info({ events: moved }, 'events of the former queue of webhooks are in the lines of their endpoints');
}
