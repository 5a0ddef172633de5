// What the flight recorder costs: copy and mask, per PDU, in CPU time of one thread. The PDUs are a message's four, as
// our own encoder writes them: submit_sm, its answer, the receipt, the answer to that. No socket and no bus.
import { systemClock } from '../platform/clock.ts';
import { encodeText } from '../model/text/octets.ts';
import { encodeMessageId, encodeShortMessage } from '../smpp/codec-hot.ts';
import { BindFlight, bindFlightBytes } from '../smpp/flight/bind-flight.ts';
import type { ShortMessage } from '../smpp/pdu.ts';
import { buildReceiptText } from '../smpp/receipt-text.ts';
import type { Bench, BenchOptions } from './main.ts';
import type { BenchResult } from './harness/report.ts';

const slice = 20_000;

export const bench: Bench = { about: 'CPU of the flight recorder per PDU', secondsDefault: 4, run };

function run({ seconds, seed }: BenchOptions): Promise<BenchResult> {
  const pdus = { submit: submit(160, 0), submit_ucs2: submit(140, 8), receipt: receipt(), answer: answer() };
  const parts = Object.entries(pdus);
  const figures: Record<string, number> = {};
  const perPartMs = (seconds * 1_000) / (parts.length + 1);
  for (const [name, pdu] of parts) figures[`${name}_us`] = measure([pdu], perPartMs);
  const message = [pdus.submit, pdus.answer, pdus.receipt, pdus.answer];
  figures['pdu_of_message_us'] = measure(message, perPartMs);
  return Promise.resolve({
    bench: 'flight',
    seconds,
    seed,
    load: `PDUs of ${parts.map(([name, pdu]) => `${pdu.length} (${name})`).join(', ')} octets, a ring of one bind`,
    figures,
    targets: [{ figure: 'pdu_of_message_us', op: '<=', bound: 2 }],
  });
}

/** The median over slices, in CPU time, per PDU. */
function measure(pdus: readonly Buffer[], durationMs: number): number {
  const flight = new BindFlight(bindFlightBytes(1), systemClock);
  flight.opened({ localAddress: '127.0.0.1', localPort: 1, remoteAddress: '127.0.0.1', remotePort: 2, tls: false });
  const each: number[] = [];
  const endAtMs = systemClock.monotonicMs() + durationMs;
  while (systemClock.monotonicMs() < endAtMs) {
    const before = process.cpuUsage();
    for (let turn = 0; turn < slice; turn += 1) for (const pdu of pdus) flight.sent(pdu, 0, pdu.length);
    const { user, system } = process.cpuUsage(before);
    each.push((user + system) / slice / pdus.length);
  }
  return each.sort((a, b) => a - b)[each.length >> 1] ?? Number.NaN;
}

const plain: ShortMessage = {
  sourceTon: 5,
  sourceNpi: 0,
  source: 'Heliograph',
  destinationTon: 1,
  destinationNpi: 1,
  destination: '8801712345678',
  esmClass: 0,
  registeredDelivery: 1,
  dataCoding: 0,
  octets: Buffer.alloc(0),
};

function submit(octets: number, dataCoding: number): Buffer {
  return encoded({ ...plain, dataCoding, octets: Buffer.alloc(octets, 0x61) }, 'submit_sm');
}

function receipt(): Buffer {
  const nowMs = systemClock.nowMs();
  const text = buildReceiptText({
    carrierMessageId: '1234567890',
    state: 'delivered',
    errorCode: '000',
    submittedAtMs: nowMs,
    doneAtMs: nowMs,
    text: 'Your code is 123456.',
  });
  const octets = encodeText(text, 'gsm7');
  return encoded({ ...plain, source: plain.destination, destination: '12345', esmClass: 4, octets }, 'deliver_sm');
}

function encoded(message: ShortMessage, command: 'submit_sm' | 'deliver_sm'): Buffer {
  const room = Buffer.alloc(1_024);
  return room.subarray(0, encodeShortMessage(room, 0, command, 1, message));
}

function answer(): Buffer {
  const room = Buffer.alloc(64);
  return room.subarray(0, encodeMessageId(room, 0, 'submit_sm_resp', 0, 1, '1234567890'));
}
