// `flight CARRIER`: asks all threads that serve the carrier, over NATS only, and lists the recordings, writes the PDUs
// to a capture file, or prints the decisions. The data was masked when it was recorded.
import { writeFile } from 'node:fs/promises';
import { DeadlineExceeded } from '../platform/deadline.ts';
import { SetupError, messageOf } from '../platform/errors.ts';
import { recordKind } from '../smpp/flight/pdu-ring.ts';
import { type Recording, pcapFile } from '../smpp/flight/pcap.ts';
import { type FlightRecord, readRecords } from '../smpp/flight/records.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import {
  type Decision,
  type FlightBind,
  type FlightListing,
  decisionFields,
  listFlights,
  readDecisions,
  readPdus,
} from '../actors/flight/flight.ts';
import type { Result } from './print.ts';
import { explained, withBus } from './with-bus.ts';

export type FlightOptions = { readonly bind?: string; readonly pcap?: string; readonly decisions?: boolean };

export async function flightCommand(carrier: string, options: FlightOptions): Promise<Result> {
  if (options.pcap !== undefined && options.decisions === true) {
    throw new SetupError('--pcap and --decisions: found both, expected one of them');
  }
  if (options.bind !== undefined && options.decisions === true) {
    throw new SetupError('--bind: decisions are of the whole carrier, omit --bind');
  }
  const { pcap, decisions = false } = options;
  return withBus(async (bus) => {
    const listings = await recordersOf(bus, carrier);
    const binds = chosenBinds(carrier, listings, options.bind);
    if (pcap !== undefined) return captured(carrier, pcap, await capture(bus, binds, pcap));
    return decisions ? decided(carrier, await decisionsOf(bus, listings)) : listed(carrier, binds);
  });
}

/** One thread's recording of a bind. */
type Recorded = {
  readonly listing: FlightListing;
  readonly bind: FlightBind;
  readonly records?: readonly FlightRecord[];
};

async function recordersOf(bus: Bus, carrier: string): Promise<FlightListing[]> {
  if (/^[a-z][a-z0-9-]{0,31}$/.test(carrier)) {
    const listings = await listFlights(bus, carrier);
    if (listings.length > 0) return listings;
  }
  const others = [...new Set((await listFlights(bus, null)).map((each) => each.carrier))].sort();
  if (others.length === 0) throw new SetupError('no carrier is served now: start the role carriers, or run `doctor`');
  throw new SetupError(`carrier: found "${carrier}", which no node serves now; served are ${others.join(', ')}`);
}

function chosenBinds(carrier: string, listings: readonly FlightListing[], wanted: string | undefined): Recorded[] {
  const all = listings.flatMap((listing) => listing.binds.map((bind) => ({ listing, bind })));
  if (wanted === undefined) return all;
  const name = wanted.includes('/') ? wanted : `${carrier}/${wanted}`;
  const chosen = all.filter(({ bind }) => bind.name === name);
  if (chosen.length > 0) return chosen;
  const there = [...new Set(all.map(({ bind }) => bind.name))].join(', ');
  throw new SetupError(`--bind: found "${wanted}", expected one of ${there || 'none: no session was opened yet'}`);
}

async function capture(bus: Bus, binds: readonly Recorded[], file: string): Promise<Recorded[]> {
  const read: Recorded[] = [];
  const recordings: Recording[] = [];
  for (const { listing, bind } of binds) {
    const { records: raw, session } = await answered(readPdus(bus, listing.node, bind.name));
    const records = [...readRecords(raw)];
    read.push({ listing, bind, records });
    recordings.push({ records, wallAtZeroMs: listing.wallAtZeroMs, session });
  }
  if (!read.some(({ records }) => records?.some(isPdu))) {
    throw new SetupError('nothing is recorded yet: no session was opened since the carrier was started');
  }
  try {
    await writeFile(file, pcapFile(recordings), { mode: 0o600 });
  } catch (error) {
    throw new SetupError(`--pcap: cannot write ${file}: ${messageOf(error)}`, error);
  }
  return read;
}

async function decisionsOf(bus: Bus, listings: readonly FlightListing[]): Promise<Decision[]> {
  const all = await Promise.all(listings.map(({ node }) => answered(readDecisions(bus, node))));
  return all.flat().sort((one, other) => one.atMs - other.atMs);
}

const answered = <T>(answer: Promise<T>) =>
  explained(answer, (error) => {
    const why = error instanceof DeadlineExceeded ? 'it took too long' : messageOf(error);
    return `the carrier's thread stopped answering (${why}): run the command again`;
  });

const isPdu = ({ kind }: FlightRecord) => kind === recordKind.sent || kind === recordKind.received;

function captured(carrier: string, file: string, binds: readonly Recorded[]): Result {
  const rows = binds.map(({ listing, bind, records = [] }) => {
    const pdus = records.filter(isPdu);
    const at = (record: FlightRecord | undefined) =>
      record === undefined ? null : new Date(record.atMs + listing.wallAtZeroMs).toISOString();
    return { bind: bind.name, node: listing.node, pdus: pdus.length, first_at: at(pdus[0]), last_at: at(pdus.at(-1)) };
  });
  const lines = [
    `Wrote ${file}`,
    ...rows.map(
      ({ bind, pdus, first_at: from, last_at: to }) =>
        `  ${bind}  ${count(pdus, 'PDU')}, ${from ?? '–'} to ${to ?? '–'}`,
    ),
    'Passwords, texts and the middle of numbers are masked. On other ports than 2775: tshark -d tcp.port==PORT,smpp',
  ];
  return { json: { object: 'flight_capture', carrier, file, binds: rows }, lines };
}

function decided(carrier: string, decisions: readonly Decision[]): Result {
  return {
    json: { object: 'flight_decisions', carrier, data: decisions.map(decisionFields) },
    lines: decisions.length === 0 ? [`${carrier}: no decision recorded yet`] : decisions.map(decisionRow),
  };
}

function decisionRow({ atMs, kind, messageId, segment, attempt, detail, times }: Decision): string {
  const about = messageId === null ? '' : `${messageId} ${attempt}/${segment} `;
  return `${new Date(atMs).toISOString()}  ${kind.padEnd(11)} ${about}${detail}${times > 1 ? ` (${times} times)` : ''}`;
}

function listed(carrier: string, binds: readonly Recorded[]): Result {
  const rows = binds.map(({ listing, bind: { name, state, sessions, sent, received, bytes } }) => {
    return { bind: name, node: listing.node, state, sessions, sent, received, recorded_bytes: bytes };
  });
  const decisions = new Map(binds.map(({ listing }) => [listing.node, listing.decisions]));
  const recorded = [...decisions.values()].reduce((sum, each) => sum + each, 0);
  const lines = [
    ...rows.map(
      ({ bind, state, sessions, sent, received, recorded_bytes: bytes }) =>
        `${bind}  ${state}: ${count(sessions, 'session')}, ${count(sent, 'PDU')} sent, ${received} received, the last ${Math.ceil(bytes / 1024)} KiB recorded`,
    ),
    `${carrier}  ${count(recorded, 'decision')} recorded`,
    'Export them with --pcap FILE or --decisions.',
  ];
  return { json: { object: 'flight', carrier, decisions: recorded, binds: rows }, lines };
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
