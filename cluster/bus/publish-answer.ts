// Interprets JetStream's answer to a publish. Only an acknowledgement with a sequence means that the record is durable.
// Pure; publisher.ts acts on it.
import { messageOf } from '../../platform/errors.ts';
import { wrongLastSequence } from './api-errors.ts';

/** The record is certainly not stored. */
export type PublishRefusal = 'full' | 'subject_full' | 'conflict';
type PublishAnswer =
  | { readonly kind: 'stored'; readonly stream: string; readonly seq: number; readonly duplicate: boolean }
  | { readonly kind: 'refused'; readonly failure: PublishRefusal }
  /** It may or may not be stored: repeat the same publish. */
  | { readonly kind: 'not_durable'; readonly why: string };

type AckText = {
  readonly stream?: unknown;
  readonly seq?: unknown;
  readonly duplicate?: unknown;
  readonly error?: { readonly err_code?: number; readonly description?: string };
};

/** nats-server 2.9 has one code for every bound of a stream. */
const storeFailed = 10077;

export function readPublishAnswer(octets: Uint8Array): PublishAnswer {
  // 503 without a body: no stream has the subject, because JetStream is starting.
  if (octets.length === 0) return { kind: 'not_durable', why: 'no stream listens on the subject' };
  let ack: AckText;
  try {
    ack = JSON.parse(Buffer.from(octets.buffer, octets.byteOffset, octets.length).toString()) as AckText;
  } catch (error) {
    return { kind: 'not_durable', why: `not an acknowledgement: ${messageOf(error)}` };
  }
  if (ack.error !== undefined) return answerOfError(ack.error);
  const { seq, stream, duplicate } = ack;
  // A replicated stream notes a record's id before its replicas have it: until then a repeat is answered `duplicate`
  // with sequence 0 (nats-server before 2.10.20), and the record is lost if the leader dies.
  if (typeof seq !== 'number' || !Number.isInteger(seq) || seq <= 0) {
    return { kind: 'not_durable', why: 'the acknowledgement has no sequence yet' };
  }
  return { kind: 'stored', stream: typeof stream === 'string' ? stream : '', seq, duplicate: duplicate === true };
}

/** JetStream's refusals, distinguished by text where one code means several. */
function answerOfError({ err_code: code, description = '' }: NonNullable<AckText['error']>): PublishAnswer {
  if (code === wrongLastSequence) return { kind: 'refused', failure: 'conflict' };
  if (description.includes('per subject')) return { kind: 'refused', failure: 'subject_full' };
  if (code === storeFailed && description.includes('maximum')) return { kind: 'refused', failure: 'full' };
  return { kind: 'not_durable', why: description };
}
