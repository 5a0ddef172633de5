// Publishes a whole message from a subscriber as `sms.received` to the account that owns the destination number. When
// its text is a keyword, the opt-out or opt-in takes effect for every account that sends from that number, is
// published, and is answered. Resolves when all of it is durable.
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import type { EventWriter } from '../../cluster/bus/event-writer.ts';
import type { DecisionRecord } from '../../model/records/inbound-record.ts';
import { bodyOctets } from '../../model/records/message-record.ts';
import type { Account, Directory } from '../../directory/contract.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { type MessageId, inboundMessageId } from '../../model/ids.ts';
import { type BodyPart, encodingOf, inboundBodyOf } from '../../model/inbound-body.ts';
import { type InboundOrigin, optedEvent, receivedEvent } from '../../model/inbound-event.ts';
import type { InboundEnvelope } from '../../model/inbound-part.ts';
import type { Clock } from '../../platform/clock.ts';
import { RejectMessage, RetryLater } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log, maskNumber } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import { type AddressForms, addressForms } from '../../policy/country/address-forms.ts';
import type { CountryRules, KeywordRules } from '../../policy/country/contract.ts';
import {
  type KeywordFound,
  type KeywordReader,
  type ReplyAccount,
  keywordReader,
  keywordReply,
} from '../../policy/keywords/keywords.ts';
import type { ContentRules } from '../../policy/admission/content-rules.ts';
import { contentRulesGate } from '../../policy/admission/text-gates.ts';
import { type AskWriter, type Owner, type Owners, ownersOf } from './owners.ts';
import type { Reply } from './reply.ts';

/** A message from a subscriber: `parts` in their order, null where one is missing. */
export type InboundMessage = InboundEnvelope & {
  readonly messageId: MessageId;
  readonly receivedAtMs: number;
  readonly parts: readonly (BodyPart | null)[];
};

export type InboundPublisherParts = {
  readonly directory: Pick<Directory, 'ownersOf' | 'account'>;
  readonly askWriter: AskWriter;
  readonly events: EventWriter;
  readonly clock: Clock;
  readonly cipher: BodyCipher;
  /** Puts a decision into effect and queues it for the database. */
  readonly decide: (decision: DecisionRecord, carrier: string) => Promise<void>;
  readonly reply: (reply: Reply, deliveries: number) => Promise<void>;
};

const noKeywords: KeywordRules = { stop: {}, start: {}, help: {} };

export class InboundPublisher {
  readonly #parts: InboundPublisherParts;
  #forms!: AddressForms;
  #keywords!: KeywordRules;
  #read!: KeywordReader;
  #blocked!: ReturnType<typeof contentRulesGate>;

  constructor(parts: InboundPublisherParts, country: CountryRules, content?: ContentRules) {
    this.#parts = parts;
    this.configure(country, content);
  }

  configure(country: CountryRules, content?: ContentRules): void {
    this.#blocked = contentRulesGate(content);
    this.#forms = addressForms(country);
    this.#keywords = country.keywords ?? noKeywords;
    this.#read = keywordReader(this.#keywords);
  }

  async publish(message: InboundMessage, deliveries: number): Promise<void> {
    const { carrier, livemode } = message;
    const number = this.#forms.subscriber(message.source, message.sourceTon);
    const forms = this.#forms.client(message.destination, message.destinationTon);
    const { directory, askWriter } = this.#parts;
    const owners = await ownersOf(directory, askWriter, { forms, subscriber: number, livemode });
    const { owner } = owners;
    const body = inboundBodyOf(message.parts);
    // A text with a gap is no keyword, whatever is left of it.
    const isWhole = message.parts.every((part) => part !== null);
    const found = isWhole && 'text' in body ? this.#read(body.text) : null;

    const origin: InboundOrigin = {
      messageId: message.messageId,
      accountId: owner === 'unavailable' ? '' : (owner?.accountId ?? ''),
      carrier,
      clientNumber: owner === 'unavailable' ? '' : (owner?.sender ?? message.destination),
      subscriber: number ?? message.source,
      livemode,
      receivedAtMs: message.receivedAtMs,
    };
    // A message without an owner decides nothing: carriers' own notices come from such numbers too.
    const decided =
      number === null || found === null || found.keyword === 'help'
        ? []
        : this.#decisions(message, owners, found, number);
    if (owner === 'unavailable') {
      // The decision applies to all accounts that send from the number, whichever receives the event.
      await Promise.all(decided.map((decision) => this.#decide(decision, origin)));
      throw this.#mustWait(message);
    }
    const account = owner === null ? undefined : directory.account(owner.accountId);
    const received = receivedEvent(origin, {
      encoding: encodingOf(message.parts),
      segments: message.parts.length,
      inbound: {
        sealedBody: this.#parts.cipher.seal(bodyOctets(body), message.messageId),
        keepBody: account?.keepInboundText === true,
        keyword: found?.keyword ?? null,
        parts: message.parts.filter((part) => part !== null).length,
      },
    });
    await Promise.all([this.#write(received), ...decided.map((decision) => this.#decide(decision, origin))]);
    if (found !== null) metrics.keywords.inc({ carrier, keyword: found.keyword });
    if (found !== null && number !== null && owner !== null) {
      await this.#answer(message, owner, found, number, deliveries);
    }
    this.#count(origin, deliveries);
  }

  /** An event store that is a moment behind is queried again soon; while it is down the message waits in LATER. */
  #mustWait({ carrier, receivedAtMs }: InboundMessage): Error {
    const { writerSoonMs, writerWaitMs, writerWaitMaxMs } = limits.inbound;
    const ageMs = this.#parts.clock.nowMs() - receivedAtMs;
    const why = 'it is not known from the event store which account wrote last to the subscriber';
    if (ageMs > writerWaitMaxMs) return new RejectMessage('writer_unavailable', why);
    metrics.inboundWaits.inc({ carrier });
    return new RetryLater(why, ageMs < writerSoonMs ? limits.bus.nakDelayMsMax : writerWaitMs);
  }

  #decisions(message: InboundMessage, owners: Owners, found: KeywordFound, number: string): readonly DecisionRecord[] {
    const keyword = found.keyword as 'stop' | 'start';
    const { receivedAtMs: atMs, messageId } = message;
    const ofAccount = this.#keywords.scope === 'account';
    const targets = new Map<string, DecisionRecord>();
    for (const { accountId, sender: only } of owners.all) {
      const sender = ofAccount ? null : only;
      targets.set(`${accountId} ${sender ?? ''}`, { v: 1, keyword, accountId, number, sender, atMs, messageId });
    }
    return [...targets.values()];
  }

  async #decide(decision: DecisionRecord, { messageId, carrier, livemode }: InboundOrigin): Promise<void> {
    const { accountId, sender, atMs, number } = decision;
    await this.#parts.decide(decision, carrier);
    const opted: InboundOrigin = {
      messageId: inboundMessageId(`${messageId} ${accountId} ${sender ?? ''}`, atMs),
      accountId,
      carrier,
      clientNumber: sender ?? '',
      subscriber: number,
      livemode,
      receivedAtMs: atMs,
    };
    await this.#write(optedEvent(opted, decision.keyword, messageId));
  }

  async #answer(
    message: InboundMessage,
    owner: Owner,
    found: KeywordFound,
    to: string,
    deliveries: number,
  ): Promise<void> {
    const account = this.#parts.directory.account(owner.accountId);
    if (account === undefined || account.status === 'suspended') return;
    const text = keywordReply(this.#keywords, found, this.#answering(account), owner.sender);
    if (text === null) return;
    const { carrier, livemode, receivedAtMs, messageId } = message;
    const { keyword } = found;
    await this.#parts.reply({ ...owner, to, text, keyword, carrier, livemode, receivedAtMs, messageId }, deliveries);
  }

  /** A help text that today's content rules refuse is not sent; the country's is. */
  #answering(account: Account): ReplyAccount {
    const { name, helpText = null, requireTemplate = [] } = account;
    const isAllowed =
      helpText !== null && !requireTemplate.includes('transactional') && this.#blocked({ account }, helpText) === null;
    return { name, helpText: isAllowed ? helpText : null };
  }

  #write(event: DeliveryEvent): Promise<void> {
    const { events } = this.#parts;
    if (!events.hasCapacity) {
      return Promise.reject(new RetryLater('the events wait for the bus', limits.bus.nakDelayMsMax));
    }
    return new Promise((resolve, reject) => {
      events.write(
        event,
        (durable) => (durable ? resolve() : reject(new RetryLater('the process stops', limits.bus.nakDelayMsMax))),
        true,
      );
    });
  }

  #count({ accountId, carrier, messageId, subscriber, clientNumber }: InboundOrigin, deliveries: number): void {
    metrics.inbound.inc({ carrier, owner: accountId === '' ? 'nobody' : 'account' });
    const [account, from, to] = [accountId, maskNumber(subscriber), clientNumber];
    const facts = { carrier, account, messageId, from, to, deliveries };
    if (accountId !== '') return log.debug(facts, 'a message from a subscriber');
    log.warn(facts, 'a message from a subscriber to a number that no account has registered');
  }
}
