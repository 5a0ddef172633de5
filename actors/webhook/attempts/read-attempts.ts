// Reads the attempts of one endpoint from WEBHOOK_ATTEMPTS, for the management API: while no delivery process runs, too.
// What an endpoint has there is bounded (limits.webhookAttempts), and of what is read only a page stays in memory.
import type { Bus } from '../../../cluster/bus/connect.ts';
import { readStream } from '../../../cluster/bus/read-stream.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { attemptFilter } from '../../../cluster/bus/subjects.ts';
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import type { DeliveryAttempt, EndpointOf } from '../contract.ts';
import type { SendError } from '../send/send-error.ts';
import { decodeAttempts } from './attempt-record.ts';

/** Which attempts are asked for; null: any. Times are milliseconds since the epoch. */
export type AttemptsAsked = {
  /** Older than this attempt. */
  readonly before: string | null;
  readonly limit: number;
  readonly succeeded: boolean | null;
  readonly error: SendError | null;
  readonly eventId: string | null;
  readonly type: string | null;
  readonly sinceMs: number | null;
  readonly untilMs: number | null;
};

type AttemptPage = { readonly attempts: readonly DeliveryAttempt[]; readonly hasMore: boolean };

const prefetch = 64;

/** The newest first. Rejects when the bus does not answer in time. */
export async function readAttempts(
  bus: Bus,
  cipher: BodyCipher,
  { accountId, endpointId }: EndpointOf,
  asked: AttemptsAsked,
  clock: Clock = systemClock,
): Promise<AttemptPage> {
  const wanted = asked.limit + 1;
  let found: readonly DeliveryAttempt[] = [];
  const reader = readStream(bus, {
    stream: streamNames.webhookAttempts,
    filter: attemptFilter(accountId, endpointId, asked.error === null ? asked.succeeded : false),
    from: { made: '', seq: 0, storedAtNs: null },
    take({ data, seq }) {
      try {
        const read = decodeAttempts(data, endpointId, cipher).filter((each) => isAsked(each, asked));
        found = newestOf([...found, ...read], wanted);
      } catch (error) {
        log.warn({ seq, error: messageOf(error) }, 'attempts of a webhook endpoint cannot be read');
      }
      return undefined;
    },
    prefetch,
    clock,
  });
  try {
    await withDeadline('the attempts of an endpoint', limits.delivery.answerMs, reader.caughtUp, clock);
  } finally {
    reader.stop();
  }
  return { attempts: found.slice(0, asked.limit), hasMore: found.length > asked.limit };
}

function isAsked(each: DeliveryAttempt, asked: AttemptsAsked): boolean {
  const { before, succeeded, error, eventId, type, sinceMs, untilMs } = asked;
  return (
    (before === null || each.id < before) &&
    (succeeded === null || succeeded === (each.error === null)) &&
    (error === null || each.error === error) &&
    (eventId === null || each.webhookId === eventId || each.eventIds.includes(eventId)) &&
    (type === null || each.type === type) &&
    (sinceMs === null || each.atMs >= sinceMs) &&
    (untilMs === null || each.atMs < untilMs)
  );
}

/** The attempts with the greatest ids, which begin with their time; each once, also when its record was stored twice. */
function newestOf(found: readonly DeliveryAttempt[], max: number): readonly DeliveryAttempt[] {
  const each = new Map(found.map((attempt) => [attempt.id, attempt]));
  return [...each.values()].toSorted((one, other) => (one.id < other.id ? 1 : -1)).slice(0, max);
}
