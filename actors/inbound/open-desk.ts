// Puts a desk together from what a host thread has.
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
import { InboundDesk } from './desk.ts';
import { writerAsked } from './owners.ts';
import { sendReply } from './reply.ts';
import { ReplyTurns } from './reply-turns.ts';
import { Telling } from './telling.ts';
import { TextBucket } from './text-bucket.ts';

export type OpenDesk = {
  configure(country: CountryRules, content?: ContentRules): void;
  stop(): Promise<void>;
};

export type OpenDeskParts = {
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

export async function openDesk(parts: OpenDeskParts): Promise<OpenDesk> {
  const { bus, publisher, cipher, directory, country, content, clock = systemClock } = parts;
  const [texts, suppressed] = await Promise.all([openBucket(bus, 'inbound'), openBucket(bus, 'suppression')]);
  const events = new EventWriter(publisher, { clock });
  const turns = new ReplyTurns(texts);

  /** First in force, then on its way to the database: both before the message that asked for it is acked. */
  async function decide(decision: DecisionRecord, carrier: string): Promise<void> {
    await putDecision(suppressed, decision);
    const { messageId, accountId, sender } = decision;
    const id = `decided.${messageId}.${accountId}.${Buffer.from(sender ?? '').toString('hex')}`;
    const result = await publisher.publishOne(decisionSubject(carrier), encodeDecision(decision), id);
    if (!result.ok) throw new RetryLater(`INBOUND took no decision (${result.failure})`, limits.bus.nakDelayMsMax);
  }

  const telling = new Telling(
    {
      directory,
      askWriter: writerAsked(bus, () => clock.nowMs()),
      events,
      clock,
      cipher,
      decide,
      reply: (reply, deliveries) => sendReply({ publisher, cipher, events, turns }, reply, deliveries),
    },
    country,
    content,
  );
  const desk = new InboundDesk({
    bus,
    publisher,
    cipher,
    texts: new TextBucket(texts, cipher),
    tell: (message, deliveries) => telling.tell(message, deliveries),
    clock,
    ...(parts.partsWaitMs === undefined ? {} : { partsWaitMs: parts.partsWaitMs }),
  });
  await desk.start();
  return {
    configure: (next, rules) => telling.configure(next, rules),
    async stop() {
      await desk.stop();
      events.flush();
      events.close();
    },
  };
}
