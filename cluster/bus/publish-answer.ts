// Interprets JetStream's answer to a publish. Only an acknowledgement with a sequence in the stream means that a
// record is durable. Pure; publisher.ts acts on it.
import { messageOf } from '../../platform/errors.ts';
import { wrongLastSequence } from './api-errors.ts';

/** The record is surely not in the stream. */
export type PublishRefusal = 'full' | 'subject_full' | 'conflict';
type PublishAnswer =
  | { readonly kind: 'stored'; readonly stream: string; readonly seq: number; readonly duplicate: boolean }
  | { readonly kind: 'refused'; readonly failure: PublishRefusal }
  /** It may or may not become so: the same publish has to be sent again. */
  | { readonly kind: 'not_durable'; readonly why: string };

type AckText = {
  readonly stream?: unknown;
  readonly seq?: unknown;
  readonly duplicate?: unknown;
  readonly error?: { readonly err_code?: number; readonly description?: string };
};

/** One code for every bound of a stream in nats-server 2.9. */
const storeFailed = 10077;

export function readPublishAnswer(octets: Uint8Array): PublishAnswer {
  // 503 without a body: no stream listens, because JetStream is starting.
  if (octets.length === 0) return { kind: 'not_durable', why: 'nobody listens' };
  let ack: AckText;
  try {
    ack = JSON.parse(Buffer.from(octets.buffer, octets.byteOffset, octets.length).toString()) as AckText;
  } catch (error) {
    return { kind: 'not_durable', why: `not an acknowledgement: ${messageOf(error)}` };
  }
  if (ack.error !== undefined) return answerOfError(ack.error);
  const { seq, stream, duplicate } = ack;
  // A replicated stream notes the id of a record before its copies have it: until then a repeat is answered
  // `duplicate` with sequence 0 (nats-server before 2.10.20), and the record is lost if the leader dies.
  if (typeof seq !== 'number' || !Number.isInteger(seq) || seq <= 0) {
    return { kind: 'not_durable', why: 'it has no place in the stream yet' };
  }
  return { kind: 'stored', stream: typeof stream === 'string' ? stream : '', seq, duplicate: duplicate === true };
}

/** JetStream's refusals, by its error text where one number stands for several. */
function answerOfError({ err_code: code, description = '' }: NonNullable<AckText['error']>): PublishAnswer {
  if (code === wrongLastSequence) return { kind: 'refused', failure: 'conflict' };
  if (description.includes('per subject')) return { kind: 'refused', failure: 'subject_full' };
  if (code === storeFailed && description.includes('maximum')) return { kind: 'refused', failure: 'full' };
  return { kind: 'not_durable', why: description };
}
