// Recordings as capture files, read by independent code: handshakes, sequence numbers, times and PDUs, of one session
// and of many, over IPv4 and IPv6, also when the beginning was overwritten.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { encodeBare, encodeMessageId } from '../../../smpp/codec-hot.ts';
import { BindFlight, bindFlightBytes } from '../../../smpp/flight/bind-flight.ts';
import type { SessionEnds } from '../../../smpp/flight/contract.ts';
import { pcapFile, type Recording } from '../../../smpp/flight/pcap.ts';
import { readRecords } from '../../../smpp/flight/records.ts';
import { commandId } from '../../../smpp/pdu.ts';
import { limits } from '../../../platform/limits.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { encoded, message } from '../messages.ts';
import { type Capture, readPcap } from './read-pcap.ts';

const folder = mkdtempSync(join(tmpdir(), 'heliograph-pcap-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ends: SessionEnds = {
  localAddress: '10.1.2.3',
  localPort: 50_123,
  remoteAddress: '192.0.2.7',
  remotePort: 2_775,
  tls: false,
};
const wallAtZeroMs = 1_795_000_000_000;
const room = Buffer.alloc(1_024);
const enquire = (sequence: number) => room.subarray(0, encodeBare(room, 0, commandId.enquire_link, 0, sequence));
const submit = (sequence: number, text: string) => encoded(message(text), 'submit_sm', sequence);
const answer = (sequence: number) => room.subarray(0, encodeMessageId(room, 0, 'submit_sm_resp', 0, sequence, '77'));

function recordingOf(flight: BindFlight): Recording {
  const part = flight.read(0, Number.POSITIVE_INFINITY);
  return { records: readRecords(part!.records), wallAtZeroMs, session: part!.session };
}

function written(...recordings: Recording[]): Capture {
  const file = join(folder, 'one.pcap');
  writeFileSync(file, pcapFile(recordings));
  return readPcap(file);
}

function put(flight: BindFlight, direction: 'sent' | 'received', pdu: Buffer): void {
  flight[direction](pdu, 0, pdu.length);
}

describe('a capture', () => {
  it('shows a session from its handshake to its end, with its addresses, times and PDUs', () => {
    const clock = new ManualClock();
    clock.advance(1_000);
    const flight = new BindFlight(bindFlightBytes(1), clock);
    flight.opened(ends);
    clock.advance(5);
    put(flight, 'sent', submit(1, 'hello'));
    clock.advance(2.5);
    put(flight, 'received', answer(1));
    clock.advance(1);
    flight.closed('peer_closed: gone', 'peer');
    const { packets, lines, closings, pdus } = written(recordingOf(flight));
    expect({ packets, closings }).toEqual({ packets: 3 + 2 + 3, closings: 2 });
    expect(lines).toEqual([['10.1.2.3', 50_123, '192.0.2.7', 2_775]]);
    expect(pdus).toMatchObject([
      { command: 'submit_sm', sequence: 1, from: ['10.1.2.3', 50_123], to: ['192.0.2.7', 2_775] },
      { command: 'submit_sm_resp', sequence: 1, from: ['192.0.2.7', 2_775], message_id: '77' },
    ]);
    expect(pdus[0]).toMatchObject({
      short_message: Buffer.from('*****').toString('hex'),
      length: submit(1, 'hello').length,
    });
    expect(pdus.map((each) => Math.round((each.at - wallAtZeroMs / 1_000) * 10_000) / 10)).toEqual([1_005, 1_007.5]);
  });

  it('over IPv6, and for IPv4 addresses in their IPv6 form', () => {
    const flight = new BindFlight(bindFlightBytes(1), new ManualClock());
    flight.opened({ ...ends, localAddress: '2001:db8::5', remoteAddress: '2001:db8:0:1::1' });
    put(flight, 'sent', enquire(1));
    flight.opened({ ...ends, localAddress: '::ffff:10.1.2.3' });
    put(flight, 'sent', enquire(2));
    const { lines, pdus } = written(recordingOf(flight));
    expect(lines.map(([from]) => from)).toEqual(['2001:db8:0:0:0:0:0:5', '10.1.2.3']);
    expect(pdus.map(({ sequence }) => sequence)).toEqual([1, 2]);
  });

  it('keeps its addresses when the opening of the session was overwritten', () => {
    const flight = new BindFlight(limits.flight.bindBytesMin, new ManualClock());
    flight.opened({ ...ends, localPort: 1_111 });
    put(flight, 'sent', enquire(1));
    flight.closed('asked: over', 'us');
    flight.opened(ends);
    for (let sequence = 1; sequence <= 5_000; sequence += 1) put(flight, 'sent', enquire(sequence));
    const { lines, pdus } = written(recordingOf(flight));
    expect(lines).toEqual([]);
    expect(pdus.length).toBeGreaterThan(1_500);
    expect(pdus.map(({ sequence }) => sequence)).toEqual(pdus.map((_, index) => 5_001 - pdus.length + index));
    expect(new Set(pdus.map(({ from }) => from.join(' ')))).toEqual(new Set(['10.1.2.3 50123']));
  });

  it('of several binds is in the order of time', () => {
    const clock = new ManualClock();
    const flights = [1, 2, 3].map(() => new BindFlight(bindFlightBytes(3), clock));
    flights.forEach((flight, index) => flight.opened({ ...ends, localPort: 50_000 + index }));
    for (let sequence = 0; sequence < 60; sequence += 1) {
      clock.advance(1);
      put(flights[sequence % 3]!, 'sent', enquire(sequence));
    }
    expect(written(...flights.map(recordingOf)).pdus.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 60 }, (_, sequence) => sequence),
    );
  });

  it('is empty, and still a capture, when nothing was recorded; and nothing of a connection that never opened', () => {
    const flight = new BindFlight(bindFlightBytes(1), new ManualClock());
    flight.closed('connect_failed: ECONNREFUSED', 'us');
    expect(flight.read(0, 1_000)).toBeNull();
    expect(written()).toMatchObject({ packets: 0 });
    flight.opened(ends);
    flight.closed('asked: over', 'us');
    flight.closed('connect_failed: ECONNREFUSED', 'us');
    expect(written(recordingOf(flight))).toMatchObject({ packets: 6, closings: 2 });
  });
});

describe('memory', () => {
  it('is divided between the binds of a carrier, and bounded for any number of them', () => {
    const { carrierBytes, bindBytesMax, bindBytesMin } = limits.flight;
    expect(bindFlightBytes(1)).toBe(bindBytesMax);
    expect(bindFlightBytes(16) * 16).toBe(carrierBytes);
    expect(bindFlightBytes(1_000)).toBe(bindBytesMin);
    for (let binds = 1; binds < 100; binds += 1) expect(bindFlightBytes(binds) % 8).toBe(0);
  });
});
