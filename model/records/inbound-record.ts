// Records of INBOUND about subscribers' messages: a part as received, the reminder that a text's parts are overdue, and
// a subscriber's decision. Arrays with frozen positions, as in message-record.ts; the octets of a part are sealed,
// bound to its identity.
import { RejectMessage } from '../../platform/errors.ts';
import { isE164 } from '../e164.ts';
import { inboundAlphabets } from '../inbound-body.ts';
import { type InboundEnvelope, type InboundPart, type Tie, tieForms } from '../inbound-part.ts';
import type { SubscriberDecision } from '../subscriber-decision.ts';
import type { BodyCipher } from './body-cipher.ts';
import { decoder, numberAt, oneAt, packr, textAt } from './record-positions.ts';

export type PartRecord = InboundPart &
  InboundEnvelope & {
    readonly kind: 'part';
    /** The same for the same octets from the same subscriber: it identifies a repeat. */
    readonly identity: string;
    /** Number of earlier deliveries of the same octets that are known not to be repeats. */
    readonly occurrence: number;
    readonly receivedAtMs: number;
  };

/** A check, due later, whether all parts of this text have arrived; the first one arrived at `begunAtMs`. */
export type OverdueRecord = {
  readonly kind: 'overdue';
  readonly carrier: string;
  readonly text: string;
  readonly begunAtMs: number;
};

export type InboundRecord = PartRecord | OverdueRecord;

const version = 1;
const kinds = ['part', 'overdue'] as const;

export function encodeInbound(record: InboundRecord, cipher: BodyCipher): Buffer {
  const head = [version, kinds.indexOf(record.kind), record.carrier];
  if (record.kind === 'overdue') return packr.pack([...head, record.text, record.begunAtMs]);
  const { tie, shift } = record;
  return packr.pack([
    ...head,
    record.identity,
    record.occurrence,
    record.source,
    record.sourceTon,
    record.destination,
    record.destinationTon,
    inboundAlphabets.indexOf(record.alphabet),
    record.dataCoding,
    shift === null ? null : [shift.locking, shift.single],
    tie === null ? null : [tieForms.indexOf(tie.form), tie.reference, tie.total, tie.part],
    cipher.seal(record.octets, record.identity),
    record.livemode,
    record.receivedAtMs,
  ]);
}

/** Throws RejectMessage('poison_record') when the octets are no record this version can read. */
export const decodeInbound = decoder('inbound record', version, (at, cipher: BodyCipher): InboundRecord => {
  const carrier = textAt(at[2]);
  if (at[1] === 1) return { kind: 'overdue', carrier, text: textAt(at[3]), begunAtMs: numberAt(at[4]) };
  if (at[1] !== 0) throw new Error(`an inbound record of kind ${String(at[1])}`);
  const identity = textAt(at[3]);
  return {
    kind: 'part',
    carrier,
    identity,
    occurrence: numberAt(at[4]),
    source: textAt(at[5]),
    sourceTon: numberAt(at[6]),
    destination: textAt(at[7]),
    destinationTon: numberAt(at[8]),
    alphabet: oneAt(inboundAlphabets, at[9], 'an alphabet'),
    dataCoding: numberAt(at[10]),
    shift: Array.isArray(at[11]) ? { locking: numberAt(at[11][0]), single: numberAt(at[11][1]) } : null,
    tie: Array.isArray(at[12]) ? tieOf(at[12]) : null,
    octets: cipher.open(at[13] as Uint8Array, identity),
    livemode: at[14] !== false,
    receivedAtMs: numberAt(at[15]),
  };
});

export type DecisionRecord = SubscriberDecision & { readonly v: 1 };

export const encodeDecision = (decision: DecisionRecord): Buffer => Buffer.from(JSON.stringify(decision));

/** Throws RejectMessage('poison_record'). */
export function decodeDecision(octets: Uint8Array): DecisionRecord {
  try {
    const value = JSON.parse(Buffer.from(octets).toString()) as DecisionRecord;
    const isSound =
      value.v === 1 &&
      (value.keyword === 'stop' || value.keyword === 'start') &&
      typeof value.accountId === 'string' &&
      typeof value.number === 'string' &&
      isE164(value.number) &&
      (value.sender === null || typeof value.sender === 'string') &&
      typeof value.atMs === 'number' &&
      typeof value.messageId === 'string';
    if (!isSound) throw new Error('a field is missing');
    return value;
  } catch (error) {
    throw new RejectMessage('poison_record', `not a readable decision: ${String(error)}`);
  }
}

function tieOf(at: readonly unknown[]): Tie {
  const form = oneAt(tieForms, at[0], 'a tie');
  return { form, reference: numberAt(at[1]), total: numberAt(at[2]), part: numberAt(at[3]) };
}
