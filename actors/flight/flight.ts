// Reads flight recorders over core NATS: every actor thread lists its recordings and serves them piece by piece, so
// that no answer delays the carrier's own publishes. Nothing is durable: a thread that does not answer is left out.
import type { Msg, Subscription } from '@nats-io/transport-node';
import { ignoring } from '../../platform/errors.ts';
import { jsonObjectIn } from '../../platform/json.ts';
import { limits } from '../../platform/limits.ts';
import type { FlightPiece, FlightSummary } from '../../smpp/flight/contract.ts';
import type { Bus } from '../../cluster/bus/connect.ts';

export type FlightBind = FlightSummary & {
  readonly name: string;
  /** `bound`, or why it is not. */
  readonly state: string;
};

/** One thread's recording of one carrier. */
export type FlightListing = {
  readonly v: 1;
  readonly carrier: string;
  /** Identifies this recording: a restarted actor begins another. */
  readonly node: string;
  /** Added to a record's time it gives milliseconds since the epoch. */
  readonly wallAtZeroMs: number;
  readonly decisions: number;
  readonly binds: readonly FlightBind[];
};

export type Decision = {
  /** Wall time, milliseconds since the epoch. */
  readonly atMs: number;
  readonly kind: string;
  readonly messageId: string | null;
  readonly segment: number;
  readonly attempt: number;
  readonly detail: string;
  /** How often the same was decided since the last entry of its kind. */
  readonly times: number;
};
export type DecisionsPiece = { readonly entries: readonly Decision[]; readonly next: number };

export type FlightSource = {
  listing(): Omit<FlightListing, 'v' | 'node'>;
  /** Null: there is no such bind, or nothing of it is recorded yet. */
  pdus(bind: string, from: number, bytesMax: number): FlightPiece | null;
  decisions(from: number, entriesMax: number): DecisionsPiece;
};

const allSubject = 'flight.carriers';
const carrierSubject = (carrier: string) => `flight.carrier.${carrier}`;
const nodeSubject = (node: string) => `flight.node.${node}`;
const lineEnd = 0x0a;

type Question =
  | { readonly want: 'pdus'; readonly bind: string; readonly from: number }
  | { readonly want: 'decisions'; readonly from: number };

/** Answers for one carrier in one thread, until the returned function is called. */
export function answerFlight(bus: Bus, carrier: string, node: string, source: FlightSource): () => void {
  const listen = (subject: string, answer: (question: Msg) => string | Buffer) =>
    bus.connection.subscribe(subject, {
      callback: (error, question) => {
        if (error !== null) return ignoring(error, 'questions to a flight recorder cannot be received at the moment');
        question.respond(answer(question));
      },
    });
  const list = () => JSON.stringify({ v: 1, node, ...source.listing() } satisfies FlightListing);
  const subscriptions: Subscription[] = [
    listen(allSubject, list),
    listen(carrierSubject(carrier), list),
    listen(nodeSubject(node), (question) => answerPiece(source, question)),
  ];
  return () => subscriptions.forEach((each) => each.unsubscribe());
}

function answerPiece(source: FlightSource, question: Msg): string | Buffer {
  const asked = readJson<Question>(question.data);
  const from = typeof asked?.from === 'number' ? asked.from : 0;
  const { answerBytesMax, answerDecisionsMax } = limits.flight;
  if (asked?.want === 'decisions') return JSON.stringify(source.decisions(from, answerDecisionsMax));
  const piece = asked?.want === 'pdus' ? source.pdus(asked.bind, from, answerBytesMax) : null;
  if (piece === null) return '{}';
  const { records, ...head } = piece;
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), records]);
}

/** The recordings of this carrier (null: of any). Empty when no thread serves it. */
export async function listFlights(bus: Bus, carrier: string | null): Promise<FlightListing[]> {
  const { answerMs, gatherMs, answersMax } = limits.flight;
  const listings: FlightListing[] = [];
  try {
    const answers = await bus.connection.requestMany(carrier === null ? allSubject : carrierSubject(carrier), '', {
      strategy: 'stall',
      maxWait: answerMs,
      stall: gatherMs,
      maxMessages: answersMax,
    });
    for await (const answer of answers) {
      const listing = readJson<FlightListing>(answer.data);
      if (listing?.v === 1 && Array.isArray(listing.binds)) listings.push(listing);
    }
  } catch (error) {
    ignoring(error, 'nobody records this carrier');
  }
  return listings;
}

/** All that is recorded of one bind now. Rejects when the recorder stops answering. */
export async function readPdus(
  bus: Bus,
  node: string,
  bind: string,
): Promise<Pick<FlightPiece, 'records' | 'session'>> {
  let parts: Buffer[] = [];
  let session: string | null = null;
  let end = Number.POSITIVE_INFINITY;
  for (let from = 0; from < end; ) {
    const answer = await ask(bus, node, { want: 'pdus', bind, from });
    const stop = answer.indexOf(lineEnd);
    const head = stop < 0 ? null : readJson<Omit<FlightPiece, 'records'>>(answer.subarray(0, stop));
    if (head === null || typeof head.next !== 'number' || head.next <= from) break;
    // Overwritten while it was read: records before the gap would seem to precede those after it directly.
    if (head.lost > 0) parts = [];
    if (parts.length === 0) session = head.session;
    parts.push(answer.subarray(stop + 1));
    // Later records are not waited for.
    if (end === Number.POSITIVE_INFINITY) end = head.head;
    from = head.next;
  }
  return { records: Buffer.concat(parts), session };
}

/** All decisions recorded now, oldest first. Rejects when the recorder stops answering. */
export async function readDecisions(bus: Bus, node: string): Promise<Decision[]> {
  const all: Decision[] = [];
  for (let from = 0; all.length < limits.flight.decisionsMax; ) {
    const piece = readJson<DecisionsPiece>(await ask(bus, node, { want: 'decisions', from }));
    if (piece === null || !Array.isArray(piece.entries) || piece.entries.length === 0) break;
    all.push(...piece.entries);
    from = piece.next;
  }
  return all;
}

async function ask(bus: Bus, node: string, question: Question): Promise<Buffer> {
  const answer = await bus.connection.request(nodeSubject(node), JSON.stringify(question), {
    timeout: limits.flight.answerMs,
  });
  return Buffer.from(answer.data.buffer, answer.data.byteOffset, answer.data.byteLength);
}

/** Null for a query or an answer that cannot be read. */
const readJson = <T>(octets: Uint8Array): T | null => jsonObjectIn(octets) as T | null;

/** A decision as one JSON line: for the command with --json, and for the file of a lost session. */
export function decisionFields({ atMs, kind, messageId, segment, attempt, detail, times }: Decision): object {
  return {
    at: new Date(atMs).toISOString(),
    kind,
    ...(messageId !== null && { message_id: messageId, attempt, segment }),
    ...(detail !== '' && { detail }),
    ...(times > 1 && { times }),
  };
}
