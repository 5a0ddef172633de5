// Builds the inbound consumer from the parts of a host thread.
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { type DecisionRecord, encodeDecision } from '../../model/records/inbound-record.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { decisionSubject } from '../../cluster/bus/subjects.ts';
import type { Directory } from '../../directory/contract.ts';
import { putDecision } from '../../directory/decision-bucket.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { RetryLater } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { ContentRules } from '../../policy/admission/content-rules.ts';
import type { CountryRules } from '../../policy/country/contract.ts';
import { InboundConsumer } from './inbound-consumer.ts';
import { lastSenderTo } from './owners.ts';
import { sendReply, ReplyTurns } from './reply.ts';
import { InboundPublisher } from './inbound-publisher.ts';
import { TextBucket } from './text-bucket.ts';

export type OpenInboundConsumer = {
  configure(country: CountryRules, content?: ContentRules): void;
  stop(): Promise<void>;
};

export type OpenInboundConsumerParts = {
  readonly bus: Bus;
  readonly publisher: Publisher;
  readonly cipher: BodyCipher;
  readonly directory: Directory;
  readonly country: CountryRules;
  /** What no account may send. */
  readonly content?: ContentRules | undefined;
  readonly clock?: Clock;
  readonly partsWaitMs?: number;
};

export async function openInboundConsumer(parts: OpenInboundConsumerParts): Promise<OpenInboundConsumer> {
  const { bus, publisher, cipher, directory, country, content, clock = systemClock } = parts;
  const [texts, suppressed] = await Promise.all([openBucket(bus, 'inbound'), openBucket(bus, 'suppression')]);
  const events = new EventWriter(publisher, { clock });
  const turns = new ReplyTurns(texts);

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
      reply: (reply, deliveries) => sendReply({ publisher, cipher, events, turns }, reply, deliveries),
    },
    country,
    content,
  );
  const inboundConsumer = new InboundConsumer({
    bus,
    publisher,
    cipher,
    texts: new TextBucket(texts, cipher),
    publish: (message, deliveries) => inboundPublisher.publish(message, deliveries),
    clock,
    ...(parts.partsWaitMs === undefined ? {} : { partsWaitMs: parts.partsWaitMs }),
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
