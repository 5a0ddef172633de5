// Records that no consumer delivers. In a cluster a consumer reads the copy of the stream on the server that leads it, which
// may stay incomplete after a kill and a restart; and after a full disk or a loss of power a stream and its consumers may be
// of different times. Decisions 173 and 270.
// * `unseen`: it has nothing pending, and the stream has a record later than the last it delivered: another server is asked
//   to lead the consumer, and reads another copy;
// * `acked`: the stream still has records that it counts as acked: they are published again with the header of
//   republished.ts, and the old ones are deleted;
// * `ahead`: it delivered a later record than the stream ever had since it was restored, and so takes new ones for delivered:
//   what was there when this was first seen is published again like that, and the consumer is deleted. Its reader makes it
//   again, and gets everything.
import { type ConsumerInfo, RetentionPolicy } from '@nats-io/jetstream';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { type Random, systemRandom } from '../../platform/random.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Bus } from './connect.ts';
import { asRepublished } from './republished.ts';
import { nextRecord } from './walk-stream.ts';

/** A consumer that does not deliver what its stream has for it. Sequences are the stream's. */
export type StaleConsumer = {
  readonly why: 'unseen' | 'acked' | 'ahead';
  readonly stream: string;
  readonly consumer: string;
  readonly subject: string;
  /** The last record that it delivered; `acked`: the first record that is still there. It stays the same while the consumer is stale. */
  readonly atSeq: number;
  /** The last record that it does not deliver; `ahead`: the last of the stream, when this was first seen. */
  readonly lastSeq: number;
};

type Seen = Pick<StaleConsumer, 'why' | 'atSeq' | 'lastSeq'> & { readonly looks: number };

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
      const isSame = before?.why === each.why && before.atSeq === each.atSeq;
      const looks = isSame ? before.looks + 1 : Math.floor(-this.#random.unit() * looksSpread);
      // What is stored later was never delivered.
      const lastSeq = isSame && each.why === 'ahead' ? before.lastSeq : each.lastSeq;
      if (looks >= looksMin) unchanged.push({ ...each, lastSeq });
      else seen.set(key, { why: each.why, atSeq: each.atSeq, lastSeq, looks });
    }
    this.#seen = seen;
    return unchanged;
  }
}

/** One check of the consumers of queues, by stream, and the repair of stale ones. */
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
  const { state, config: of } = await withDeadline('the subjects of a stream', callTimeoutMs, asked);
  const isQueue = of.retention === RetentionPolicy.Workqueue;
  const stale: StaleConsumer[] = [];
  for (const { name: consumer, config, num_pending, num_ack_pending, delivered, ack_floor } of consumers) {
    const subject = config.filter_subject ?? '';
    const named = { stream, consumer, subject };
    const deliveredSeq = delivered.stream_seq;
    if (deliveredSeq > state.last_seq) {
      stale.push({ why: 'ahead', ...named, atSeq: deliveredSeq, lastSeq: state.last_seq });
      continue;
    }
    // What is acked stays in another stream until it is purged.
    if (!isQueue) continue;
    // Most consumers account for every record and need no further request.
    if ((state.subjects?.[subject] ?? 0) <= num_pending + num_ack_pending) continue;
    const firstSeq = (await nextRecord(bus, stream, subject, 1))?.seq ?? Number.POSITIVE_INFINITY;
    const ackedSeq = ack_floor.stream_seq;
    if (firstSeq <= ackedSeq) {
      stale.push({ why: 'acked', ...named, atSeq: firstSeq, lastSeq: ackedSeq });
      continue;
    }
    if (num_pending > 0) continue;
    const last = bus.manager.streams.getMessage(stream, { last_by_subj: subject });
    const lastSeq = (await withDeadline('the last record of a subject', callTimeoutMs, last))?.seq ?? 0;
    if (lastSeq > deliveredSeq) stale.push({ why: 'unseen', ...named, atSeq: deliveredSeq, lastSeq });
  }
  return stale;
}

/** See the head of this file. */
export async function repair(bus: Bus, stale: StaleConsumer): Promise<void> {
  const { why, stream, consumer } = stale;
  log.error({ alarm: 'records_unseen', ...stale }, 'a consumer does not deliver records that its stream has for it');
  metrics.unseenRecords.inc({ stream });
  if (why === 'acked') return republish(bus, stale, republishedMax);
  if (why === 'ahead') {
    await republish(bus, stale, Number.POSITIVE_INFINITY);
    await withDeadline('a delete', callTimeoutMs, bus.manager.consumers.delete(stream, consumer)).catch(
      (error: unknown) => ignoring(error, 'another node deleted it first, or the next check finds it'),
    );
    return;
  }
  const subject = `$JS.API.CONSUMER.LEADER.STEPDOWN.${stream}.${consumer}`;
  const asked = bus.connection.request(subject, '', { timeout: callTimeoutMs });
  await withDeadline('a step-down', callTimeoutMs, asked).catch((error: unknown) =>
    ignoring(error, 'the server is asked again if the records are still not delivered'),
  );
}

/** A crash before the delete leaves both; the header makes the actor ask the event store before the second is sent. */
async function republish(bus: Bus, { stream, subject, lastSeq }: StaleConsumer, countMax: number): Promise<void> {
  let seq = 0;
  for (let count = 0; count < countMax && seq < lastSeq; count += 1) {
    const record = await nextRecord(bus, stream, subject, seq + 1);
    if (record === null || record.seq > lastSeq) return;
    seq = record.seq;
    const { header } = record;
    for (const [name, value] of Object.entries(asRepublished)) header.set(name, value);
    // A restored stream numbers other records alike.
    const msgID = `${stream}.${seq}.${record.timestamp}.again`;
    await bus.jetstream.publish(record.subject, record.data, { msgID, headers: header, timeout: callTimeoutMs });
    await withDeadline('a delete', callTimeoutMs, bus.manager.streams.deleteMessage(stream, seq)).catch(
      (error: unknown) => ignoring(error, 'another node deleted it first, or the next check finds it'),
    );
  }
}
