// Takes subscribers' messages from INBOUND, assembles multipart texts and publishes whole messages; a record is acked
// when its message is published. Every step may happen twice: ids are derived from the content, entries change by
// compare-and-set. All threads and nodes share one durable consumer and keep no state of their own.
import type { JsMsg } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { type Consumption, consumeStream } from '../../cluster/bus/consume.ts';
import { moveToDead } from '../../cluster/bus/dead-letter.ts';
import {
  type InboundRecord,
  type PartRecord,
  decodeInbound,
  encodeInbound,
  type DecisionRecord,
  encodeDecision,
} from '../../model/records/inbound-record.ts';
import { publishLater } from '../../cluster/bus/later.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { inboundPartConsumer, streamNames } from '../../cluster/bus/streams.ts';
import { inboundPartSubject, decisionSubject } from '../../cluster/bus/subjects.ts';
import { inboundMessageId } from '../../model/ids.ts';
import { bodyPartOf } from '../../model/inbound-body.ts';
import { envelopeOf } from '../../model/inbound-part.ts';
import { AssertionFailed } from '../../platform/assert.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { RejectMessage, RetryLater, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import {
  type MultipartText,
  type TiedPart,
  isOverdue,
  isWhole,
  mergePart,
  nameOfText,
  publishedTextOf,
} from './parts.ts';
import { keyOfText, mergeText } from './text-bucket.ts';
import { type InboundMessage, InboundPublisher } from './inbound-publisher.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import type { Directory } from '../../directory/contract.ts';
import { putDecision } from '../../directory/decision-bucket.ts';
import type { ContentRules } from '../../policy/admission/content-rules.ts';
import type { CountryRules } from '../../policy/country/contract.ts';
import { lastSenderTo } from './owners.ts';
import { sendReply } from './reply.ts';

type InboundConsumerParts = {
  readonly bus: Bus;
  readonly publisher: Publisher;
  readonly cipher: BodyCipher;
  /** The bucket `inbound`. */
  readonly texts: KV;
  /** Resolves when the message is published and its decision is in effect. `deliveries` counts tries. */
  readonly publish: (message: InboundMessage, deliveries: number) => Promise<void>;
  readonly clock: Clock;
  readonly partsWaitMs: number;
};

class InboundConsumer {
  readonly #parts: InboundConsumerParts;
  readonly #held = new Set<Promise<void>>();
  #consumption: Consumption | null = null;

  constructor(parts: InboundConsumerParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const { bus, publisher, clock } = this.#parts;
    this.#consumption = await consumeStream(bus, {
      stream: streamNames.inbound,
      consumer: inboundPartConsumer(),
      prefetch: limits.inbound.heldMax,
      clock,
      lowPriority: true,
      onPoison: (from, reason) => moveToDead(publisher, from, streamNames.inbound, reason),
      handle: (from) => this.#take(from),
    });
  }

  /**
   * Takes nothing new and finishes what is in flight; what the bus does not ack is redelivered to another inbound
   * consumer.
   */
  async stop(): Promise<void> {
    await this.#consumption?.stop();
    await Promise.race([Promise.all(this.#held), this.#parts.clock.sleep(limits.inbound.stopMs)]);
  }

  #take(from: JsMsg): void {
    const { publisher, cipher } = this.#parts;
    let record: InboundRecord;
    try {
      record = decodeInbound(from.data, cipher);
    } catch (error) {
      return moveToDead(publisher, from, streamNames.inbound, messageOf(error));
    }
    const work = this.#settle(record, from).finally(() => this.#held.delete(work));
    this.#held.add(work);
  }

  async #settle(record: InboundRecord, from: JsMsg): Promise<void> {
    try {
      const deliveries = from.info.deliveryCount;
      if (record.kind === 'overdue') await this.#lookAgain(record.text, record.begunAtMs, deliveries);
      else if (record.tie === null) await this.#parts.publish(singleOf(record), deliveries);
      else await this.#merge(record as TiedPart, deliveries);
      from.ack();
    } catch (error) {
      const { carrier } = record;
      // A failed assertion, or a text that is too large: a retry would fail in the same way.
      if (error instanceof AssertionFailed || error instanceof RejectMessage) {
        return moveToDead(this.#parts.publisher, from, streamNames.inbound, messageOf(error));
      }
      if (error instanceof RetryLater && error.afterMs > limits.bus.nakDelayMsMax) {
        return this.#defer(record, from, error);
      }
      log.warn({ carrier, error: messageOf(error) }, 'a message from a subscriber could not be published yet');
      from.nak(limits.bus.nakDelayMsMax);
    }
  }

  /** Redelivered later as it is. Left in INBOUND, a few hundred such would block all other messages. */
  #defer(record: InboundRecord, from: JsMsg, { afterMs, message }: RetryLater): void {
    const { publisher, cipher, clock } = this.#parts;
    const nowMs = clock.nowMs();
    const later = {
      subject: inboundPartSubject(record.carrier),
      payload: encodeInbound(record, cipher),
      dueAtMs: nowMs + afterMs,
      id: `inbound.waits.${from.seq}`,
      shardKey: String(from.seq),
    };
    log.info({ carrier: record.carrier, error: message, afterMs }, 'a message from a subscriber waits');
    publishLater(publisher, later, nowMs, (result) => {
      if (result.ok) from.ack();
      else from.nak(limits.bus.nakDelayMsMax);
    });
  }

  async #merge(part: TiedPart, deliveries: number): Promise<void> {
    const key = keyOfText(nameOfText(part));
    const text = await mergeText(this.#parts, key, async (held) => {
      const merged = mergePart(held, part);
      if (merged.kind === 'repeat') return null;
      if (merged.kind === 'displaced') await this.#publish(key, merged.before, deliveries);
      // Published before it is marked: after a crash in between it is published again, under the same id.
      if (merged.kind === 'whole') await this.#publish(key, merged.text, deliveries);
      return merged.kind === 'whole' ? publishedTextOf(merged.text) : merged.text;
    });
    if (text !== null) await this.#remind(key, text, part);
  }

  /** The first part of a text schedules the check for missing parts; its redelivery schedules it again. */
  async #remind(key: string, text: MultipartText, part: TiedPart): Promise<void> {
    const { publisher, cipher, clock, partsWaitMs } = this.#parts;
    if (text.isPublished || text.begunBy !== part.identity) return;
    const { carrier, begunAtMs } = text;
    const nowMs = clock.nowMs();
    const record = {
      subject: inboundPartSubject(carrier),
      payload: encodeInbound({ kind: 'overdue', carrier, text: key, begunAtMs }, cipher),
      dueAtMs: begunAtMs + partsWaitMs,
      id: `inbound.${key}.${begunAtMs}`,
      shardKey: key,
    };
    const { promise, resolve } = Promise.withResolvers<boolean>();
    publishLater(publisher, record, nowMs, (result) => resolve(result.ok));
    if (!(await promise)) throw new RetryLater('LATER did not take the reminder', limits.bus.nakDelayMsMax);
  }

  async #lookAgain(key: string, begunAtMs: number, deliveries: number): Promise<void> {
    await mergeText(this.#parts, key, async (held) => {
      if (!isOverdue(held, begunAtMs)) return null;
      await this.#publish(key, held, deliveries);
      return publishedTextOf(held);
    });
  }

  async #publish(key: string, text: MultipartText, deliveries: number): Promise<void> {
    if (!isWhole(text)) metrics.inboundIncomplete.inc({ carrier: text.carrier });
    const { begunAtMs: receivedAtMs } = text;
    const parts = text.parts.map((part) => part?.body ?? null);
    const messageId = inboundMessageId(key, receivedAtMs);
    await this.#parts.publish({ ...envelopeOf(text), messageId, receivedAtMs, parts }, deliveries);
  }
}

function singleOf(part: PartRecord): InboundMessage {
  const { identity, occurrence, receivedAtMs } = part;
  const messageId = inboundMessageId(`${identity}.${occurrence}`, receivedAtMs);
  return { ...envelopeOf(part), messageId, receivedAtMs, parts: [bodyPartOf(part)] };
}

export type OpenInboundConsumer = {
  configure(country: CountryRules, content?: ContentRules): void;
  stop(): Promise<void>;
};

type OpenInboundConsumerParts = Pick<InboundConsumerParts, 'bus' | 'publisher' | 'cipher'> & {
  readonly directory: Directory;
  readonly country: CountryRules;
  /** What no account may send. */
  readonly content?: ContentRules | undefined;
  readonly clock?: Clock;
  readonly partsWaitMs?: number;
};

export async function openInboundConsumer(parts: OpenInboundConsumerParts): Promise<OpenInboundConsumer> {
  const { bus, publisher, cipher, directory, country, content, clock = systemClock } = parts;
  const { partsWaitMs = limits.inbound.partsWaitMs } = parts;
  const [texts, suppressed] = await Promise.all([openBucket(bus, 'inbound'), openBucket(bus, 'suppression')]);
  const events = new EventWriter(publisher, { clock });
  /** First in effect, then queued for the database: both before the message that asked for it is acked. */
  async function decide(decision: DecisionRecord, carrier: string): Promise<void> {
    await putDecision(suppressed, decision);
    const { messageId, accountId, sender } = decision;
    const id = `decided.${messageId}.${accountId}.${Buffer.from(sender ?? '').toString('hex')}`;
    const result = await publisher.publishOne(decisionSubject(carrier), encodeDecision(decision), id);
    if (!result.ok) throw new RetryLater(`INBOUND took no decision (${result.failure})`, limits.bus.nakDelayMsMax);
  }

  const inboundPublisher = new InboundPublisher(
    {
      directory,
      askWriter: lastSenderTo(bus, () => clock.nowMs()),
      events,
      clock,
      cipher,
      decide,
      reply: (reply, deliveries) => sendReply({ publisher, cipher, events, turns: texts }, reply, deliveries),
    },
    country,
    content,
  );
  const inboundConsumer = new InboundConsumer({
    ...{ bus, publisher, cipher, texts, clock, partsWaitMs },
    publish: (message, deliveries) => inboundPublisher.publish(message, deliveries),
  });
  await inboundConsumer.start();
  return {
    configure: (next, rules) => inboundPublisher.configure(next, rules),
    async stop() {
      await inboundConsumer.stop();
      events.flush();
      events.close();
    },
  };
}
