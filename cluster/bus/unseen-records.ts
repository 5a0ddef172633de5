// Records of a queue that nobody is given. In a cluster of nats-servers a consumer reads the copy of the stream on the server
// that leads the consumer; after a server was killed and came back, its copy may lack for ever what the others have, and what
// the consumer says of itself is wrong. Two things are seen then, and mended, without a person:
// * unseen: it has nothing pending, and the stream has records behind the last that it delivered. Another server is asked to
//   lead it, which reads another copy;
// * forgotten: it has delivered the record and waits for no ack, and the stream still has it. It is published once more, marked
//   as one that may not be the first of its message (republished.ts), and the old one is deleted. Decision 173.
import type { StoredMsg } from '@nats-io/jetstream';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { type Random, systemRandom } from '../../platform/random.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Bus } from './connect.ts';
import { asRepublished } from './republished.ts';

/** A consumer with nothing pending, and a record that its stream has for it all the same. Sequences are those of the stream. */
export type BlindConsumer = {
  readonly stream: string;
  readonly consumer: string;
  readonly subject: string;
  /** The last record that it has delivered. */
  readonly deliveredSeq: number;
  /** The last record of its subject. */
  readonly lastSeq: number;
};

type Seen = Pick<BlindConsumer, 'deliveredSeq' | 'lastSeq'> & { readonly looks: number };

const { looksMin, looksSpread, republishedMax } = limits.unseenRecords;
const { callTimeoutMs } = limits.operations;

/** Remembers the looks, and reports which consumers stay blind. */
export class UnseenRecords {
  readonly #random: Random;
  #seen = new Map<string, Seen>();

  constructor(random: Random = systemRandom) {
    this.#random = random;
  }

  /**
   * All that are blind at this look. Those come back that were so at the looks before and have delivered nothing since: what
   * was just published is delivered by the next look. Nodes do not act at the same look; then the count begins again.
   */
  look(blind: readonly BlindConsumer[]): BlindConsumer[] {
    const seen = new Map<string, Seen>();
    const staying: BlindConsumer[] = [];
    for (const each of blind) {
      const key = `${each.stream} ${each.consumer}`;
      const before = this.#seen.get(key);
      // Of what it has delivered another record each time is what a busy queue looks like.
      const isSame = before?.deliveredSeq === each.deliveredSeq && (isUnseen(each) || before.lastSeq === each.lastSeq);
      const looks = isSame ? before.looks + 1 : Math.floor(-this.#random.unit() * looksSpread);
      if (looks >= looksMin) staying.push(each);
      else seen.set(key, { deliveredSeq: each.deliveredSeq, lastSeq: each.lastSeq, looks });
    }
    this.#seen = seen;
    return staying;
  }
}

/** Behind the last that its consumer delivered. */
function isUnseen({ lastSeq, deliveredSeq }: BlindConsumer): boolean {
  return lastSeq > deliveredSeq;
}

/** Makes it deliver what it does not see, or what it has forgotten. */
export async function mend(bus: Bus, blind: BlindConsumer): Promise<void> {
  const { stream, consumer } = blind;
  log.error({ alarm: 'records_unseen', ...blind }, 'a consumer does not deliver what its stream has for it');
  metrics.unseenRecords.inc({ stream });
  if (!isUnseen(blind)) return republish(bus, blind);
  const subject = `$JS.API.CONSUMER.LEADER.STEPDOWN.${stream}.${consumer}`;
  const asked = bus.connection.request(subject, '', { timeout: callTimeoutMs });
  await withDeadline('a step-down', callTimeoutMs, asked).catch((error: unknown) =>
    ignoring(error, 'it is asked again when the records are still not seen'),
  );
}

/** A crash in between leaves both: the second one is asked about, and the next look finds the first one again. */
async function republish(bus: Bus, { stream, subject, lastSeq }: BlindConsumer): Promise<void> {
  let seq = 0;
  for (let count = 0; count < republishedMax && seq < lastSeq; count += 1) {
    const record = await nextRecord(bus, stream, subject, seq + 1);
    if (record === null || record.seq > lastSeq) return;
    seq = record.seq;
    const { header } = record;
    for (const [name, value] of Object.entries(asRepublished)) header.set(name, value);
    const options = { msgID: `${stream}.${seq}.forgotten`, headers: header, timeout: callTimeoutMs };
    await bus.jetstream.publish(subject, record.data, options);
    await withDeadline('a delete', callTimeoutMs, bus.manager.streams.deleteMessage(stream, seq)).catch(
      (error: unknown) => ignoring(error, 'another node did it first, or the next look finds it'),
    );
  }
}

async function nextRecord(bus: Bus, stream: string, subject: string, fromSeq: number): Promise<StoredMsg | null> {
  const request = { seq: fromSeq, next_by_subj: subject };
  return withDeadline('a record', callTimeoutMs, bus.manager.streams.getMessage(stream, request));
}
