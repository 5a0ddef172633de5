// Records of a queue that no consumer delivers, in a cluster of nats-servers. A consumer reads the copy of the stream on the
// server that leads it. After a kill and a restart such a copy may stay incomplete, and the consumer's own state may be wrong:
// * it has nothing pending, and the stream has a record later than the last it delivered: another server is asked to lead
//   the consumer, and reads another copy;
// * it has nothing pending and waits for no ack, and the stream still has a record it delivered: that record is published
//   again with the header of republished.ts, and the old one is deleted. Decision 173.
import type { ConsumerInfo } from '@nats-io/jetstream';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { type Random, systemRandom } from '../../platform/random.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Bus } from './connect.ts';
import { asRepublished } from './republished.ts';
import { nextRecord } from './walk-stream.ts';

/** A consumer with nothing pending although its stream has a record for it. Sequences are the stream's. */
export type StaleConsumer = {
  readonly stream: string;
  readonly consumer: string;
  readonly subject: string;
  /** The last record that it delivered. */
  readonly deliveredSeq: number;
  /** The last record of its subject. */
  readonly lastSeq: number;
};

type Seen = Pick<StaleConsumer, 'deliveredSeq' | 'lastSeq'> & { readonly looks: number };

const { looksMin, looksSpread, republishedMax } = limits.unseenRecords;
const { callTimeoutMs } = limits.operations;

/** Keeps earlier checks and reports the consumers that stay stale. */
export class UnseenRecords {
  readonly #random: Random;
  #seen = new Map<string, Seen>();

  constructor(random: Random = systemRandom) {
    this.#random = random;
  }

  /**
   * Takes the consumers that are stale at this check; returns those that were stale at several checks and delivered
   * nothing between. A new record is delivered before the next check. The number of checks is random, so that nodes do
   * not all act at once.
   */
  look(stale: readonly StaleConsumer[]): StaleConsumer[] {
    const seen = new Map<string, Seen>();
    const unchanged: StaleConsumer[] = [];
    for (const each of stale) {
      const key = `${each.stream} ${each.consumer}`;
      const before = this.#seen.get(key);
      // In a busy queue the last record changes at each check.
      const isSame = before?.deliveredSeq === each.deliveredSeq && (isUnseen(each) || before.lastSeq === each.lastSeq);
      const looks = isSame ? before.looks + 1 : Math.floor(-this.#random.unit() * looksSpread);
      if (looks >= looksMin) unchanged.push(each);
      else seen.set(key, { deliveredSeq: each.deliveredSeq, lastSeq: each.lastSeq, looks });
    }
    this.#seen = seen;
    return unchanged;
  }
}

/** One check of the consumers of replicated queues, by stream, and the repair of stale ones. */
export async function deliverUnseen(
  bus: Bus,
  records: UnseenRecords,
  queues: ReadonlyMap<string, readonly ConsumerInfo[]>,
): Promise<void> {
  const stale: StaleConsumer[] = [];
  for (const [stream, consumers] of queues) stale.push(...(await staleConsumers(bus, stream, consumers)));
  for (const each of records.look(stale)) await repair(bus, each);
}

async function staleConsumers(
  bus: Bus,
  stream: string,
  consumers: readonly ConsumerInfo[],
): Promise<readonly StaleConsumer[]> {
  const asked = bus.manager.streams.info(stream, { subjects_filter: '>' });
  const { state } = await withDeadline('the subjects of a stream', callTimeoutMs, asked);
  const stale: StaleConsumer[] = [];
  for (const { name: consumer, config, num_pending, num_ack_pending, delivered } of consumers) {
    const subject = config.filter_subject ?? '';
    // Most consumers account for every record and need no further request.
    if (num_pending > 0 || (state.subjects?.[subject] ?? 0) <= num_ack_pending) continue;
    const last = bus.manager.streams.getMessage(stream, { last_by_subj: subject });
    const lastSeq = (await withDeadline('the last record of a subject', callTimeoutMs, last))?.seq ?? 0;
    const deliveredSeq = delivered.stream_seq;
    if (lastSeq > deliveredSeq || (lastSeq > 0 && num_ack_pending === 0))
      stale.push({ stream, consumer, subject, deliveredSeq, lastSeq });
  }
  return stale;
}

/** The subject has a record after the last one delivered. */
function isUnseen({ lastSeq, deliveredSeq }: StaleConsumer): boolean {
  return lastSeq > deliveredSeq;
}

/** Moves the consumer to another server, or republishes a record that it wrongly counts as acked. */
export async function repair(bus: Bus, stale: StaleConsumer): Promise<void> {
  const { stream, consumer } = stale;
  log.error({ alarm: 'records_unseen', ...stale }, 'a consumer does not deliver records that its stream has for it');
  metrics.unseenRecords.inc({ stream });
  if (!isUnseen(stale)) return republish(bus, stale);
  const subject = `$JS.API.CONSUMER.LEADER.STEPDOWN.${stream}.${consumer}`;
  const asked = bus.connection.request(subject, '', { timeout: callTimeoutMs });
  await withDeadline('a step-down', callTimeoutMs, asked).catch((error: unknown) =>
    ignoring(error, 'the server is asked again if the records are still not delivered'),
  );
}

/** A crash before the delete leaves both; the header makes the actor ask the event store before the second is sent. */
async function republish(bus: Bus, { stream, subject, lastSeq }: StaleConsumer): Promise<void> {
  let seq = 0;
  for (let count = 0; count < republishedMax && seq < lastSeq; count += 1) {
    const record = await nextRecord(bus, stream, subject, seq + 1);
    if (record === null || record.seq > lastSeq) return;
    seq = record.seq;
    const { header } = record;
    for (const [name, value] of Object.entries(asRepublished)) header.set(name, value);
    const options = { msgID: `${stream}.${seq}.again`, headers: header, timeout: callTimeoutMs };
    await bus.jetstream.publish(subject, record.data, options);
    await withDeadline('a delete', callTimeoutMs, bus.manager.streams.deleteMessage(stream, seq)).catch(
      (error: unknown) => ignoring(error, 'another node deleted it first, or the next check finds it'),
    );
  }
}
