// Stores subscribers' messages: each deliver_sm becomes a record in INBOUND, and is answered with ESME_ROK only when
// that is durable. Carriers repeat what they believe unanswered, on any bind and with another sequence number; a person
// may also send the same word twice. The rule: the same octets again are a repeat when our answer is outstanding, was
// ESME_RX_T_APPN, or may not have arrived because its session has ended.
import { createHash } from 'node:crypto';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { encodeInbound } from '../../model/records/inbound-record.ts';
import type { PublishResult } from '../../cluster/bus/publisher.ts';
import { inboundPartSubject } from '../../cluster/bus/subjects.ts';
import type { InboundPart } from '../../model/inbound-part.ts';
import { setNewest } from '../../platform/bounded-map.ts';
import type { Cancel, Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import { commandStatus } from '../../model/command-status.ts';
import { type AlphabetRules, inboundPartOf } from '../../smpp/inbound-part.ts';
import type { ShortMessagePdu } from '../../smpp/pdu.ts';
import type { Respond } from '../../smpp/session-contract.ts';

/** What matters here of the session of a PDU. */
export type Source = { readonly isOpen: boolean; readonly bind?: string };

export type DeliverSmHandlerParts = {
  readonly carrier: string;
  /** False on the sandbox carrier. */
  readonly livemode: boolean;
  /** The carrier's meaning of data_coding (SMPP 3.4, 5.2.19); a function, because it may change at run time. */
  readonly alphabets: () => AlphabetRules;
  readonly publish: (subject: string, payload: Uint8Array, id: string, done: (result: PublishResult) => void) => void;
  readonly cipher: BodyCipher;
  readonly clock: Clock;
};

type Delivered = {
  readonly identity: string;
  readonly sequence: number;
  readonly source: Source;
  readonly atMs: number;
  readonly occurrence: number;
  /** Null: the stream has not answered yet. */
  durable: boolean | null;
  /** How often it was answered ESME_RX_T_APPN: so many repeats are expected. */
  owed: number;
  /** The delivery and its repeats that wait for that. */
  readonly waiting: Set<Waiting>;
};
type Waiting = { readonly respond: Respond; readonly giveUp: Cancel };
type Ended = 'durable' | 'repeat' | 'not_durable' | 'late' | 'no_room';

/** Per delivery; a carrier that repeats faster than we answer gets ESME_RX_T_APPN. */
const waitingMax = 16;

export class DeliverSmHandler {
  readonly #parts: DeliverSmHandlerParts;
  /** The last delivery of each identity, oldest first. */
  readonly #remembered = new Map<string, Delivered>();
  #unanswered = 0;

  constructor(parts: DeliverSmHandlerParts) {
    this.#parts = parts;
  }

  take(pdu: ShortMessagePdu, source: Source, respond: Respond): void {
    const part = inboundPartOf(pdu, this.#parts.alphabets());
    const identity = identityOf(this.#parts.carrier, part);
    const before = this.#rememberedOf(identity);
    if (before !== null && isRepeat(before, pdu.sequence, source, part)) return this.#repeat(before, respond);
    // The carrier keeps it more safely than our memory.
    if (this.#unanswered >= limits.inbound.unansweredMax) return this.#answer(respond, 'no_room');
    const delivered: Delivered = {
      identity,
      sequence: pdu.sequence,
      source,
      atMs: this.#parts.clock.monotonicMs(),
      occurrence: before === null ? 0 : before.occurrence + 1,
      durable: null,
      owed: 0,
      waiting: new Set(),
    };
    this.#wait(delivered, respond);
    this.#publish(part, delivered);
  }

  #publish(part: InboundPart, delivered: Delivered): void {
    const { carrier, livemode, publish, cipher, clock } = this.#parts;
    const { identity, occurrence } = delivered;
    setNewest(this.#remembered, identity, delivered, limits.inbound.rememberedMax);
    this.#unanswered += 1;
    const receivedAtMs = clock.nowMs();
    const record = { ...part, kind: 'part', identity, occurrence, carrier, livemode, receivedAtMs } as const;
    publish(inboundPartSubject(carrier), encodeInbound(record, cipher), `mo.${identity}.${occurrence}`, (result) => {
      this.#unanswered -= 1;
      delivered.durable = result.ok;
      const ended = result.ok ? (result.duplicate ? 'repeat' : 'durable') : 'not_durable';
      if (!result.ok) log.warn({ carrier, failure: result.failure }, 'a message from a subscriber was not stored');
      for (const { respond, giveUp } of delivered.waiting) {
        giveUp();
        this.#answer(respond, ended);
      }
      delivered.waiting.clear();
    });
  }

  #repeat(before: Delivered, respond: Respond): void {
    if (before.owed > 0) before.owed -= 1;
    if (before.durable === true) return this.#answer(respond, 'repeat');
    if (before.waiting.size < waitingMax) return this.#wait(before, respond);
    before.owed += 1;
    this.#answer(respond, 'no_room');
  }

  /** It may still become durable after ESME_RX_T_APPN: then its repeat is answered at once. */
  #wait(delivered: Delivered, respond: Respond): void {
    const giveUp = this.#parts.clock.after(limits.inbound.answerMs, () => {
      delivered.waiting.delete(waiting);
      delivered.owed += 1;
      this.#answer(respond, 'late');
    });
    const waiting = { respond, giveUp };
    delivered.waiting.add(waiting);
  }

  #answer(respond: Respond, ended: Ended): void {
    metrics.inboundParts.inc({ carrier: this.#parts.carrier, ended });
    // ESME_RX_T_APPN (SMPP 3.4, 5.1.3) asks the carrier to keep it and to retry.
    respond(ended === 'durable' || ended === 'repeat' ? commandStatus.ESME_ROK : commandStatus.ESME_RX_T_APPN);
  }

  /** Null when there was none, or it was not stored: then this one is the first. */
  #rememberedOf(identity: string): Delivered | null {
    const before = this.#remembered.get(identity);
    if (before === undefined || before.durable === false) return null;
    const isOver = before.atMs < this.#parts.clock.monotonicMs() - limits.inbound.rememberedMs;
    return isOver && before.durable !== null ? null : before;
  }
}

function isRepeat(before: Delivered, sequence: number, source: Source, part: InboundPart): boolean {
  // A part is identified by its reference: nobody sends the same one twice.
  if (part.tie !== null || before.durable === null) return true;
  if (before.owed > 0 || !before.source.isOpen) return true;
  return before.source === source && before.sequence === sequence;
}

/** 132 bits of a hash over all that identifies a part, which excludes when and over which bind it came. */
function identityOf(carrier: string, part: InboundPart): string {
  const { source, destination, dataCoding, shift, tie, octets } = part;
  const facts = JSON.stringify([carrier, source, destination, dataCoding, shift, tie]);
  return createHash('sha256').update(facts).update(octets).digest('base64url').slice(0, 22);
}
