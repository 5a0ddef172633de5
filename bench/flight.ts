// The cost of the flight recorder: copy and mask, per PDU, in CPU time of one thread. The PDUs are a message's four, as
// our own encoder writes them: submit_sm, its response, the receipt, the response to that. No socket and no bus.
import { systemClock } from '../platform/clock.ts';
import { encodeMessageId } from '../smpp/codec-hot.ts';
import { BindFlight, bindFlightBytes } from '../smpp/flight/bind-flight.ts';
import { buildReceiptText } from '../smpp/receipt-text.ts';
import { encoded, message } from '../test/smpp/messages.ts';
import type { Bench, BenchOptions } from './harness/bench.ts';
import { cpuPerCallUs } from './harness/latency-figures.ts';
import type { BenchResult } from './harness/report.ts';

const slice = 20_000;

export const bench: Bench<'seconds'> = {
  about: 'CPU of the flight recorder per PDU',
  takes: 'some seconds',
  options: {
    seconds: { about: 'seconds of processor time in all', default: 4 },
  },
  targets: () => [{ figure: 'pdu_of_message_us', op: '<=', bound: 2 }],
  run,
};

function run({ seconds }: BenchOptions<'seconds'>): Promise<BenchResult> {
  const pdus = { submit: submit(160, 0), submit_ucs2: submit(140, 8), receipt: receipt(), answer: answer() };
  const parts = Object.entries(pdus);
  const figures: Record<string, number> = {};
  const perPartMs = (seconds * 1_000) / (parts.length + 1);
  for (const [name, pdu] of parts) figures[`${name}_us`] = measure([pdu], perPartMs);
  const ofMessage = [pdus.submit, pdus.answer, pdus.receipt, pdus.answer];
  figures['pdu_of_message_us'] = measure(ofMessage, perPartMs);
  return Promise.resolve({
    load: `PDUs of ${parts.map(([name, pdu]) => `${pdu.length} (${name})`).join(', ')} octets, a ring of one bind`,
    figures,
  });
}

/** Per PDU. */
function measure(pdus: readonly Buffer[], durationMs: number): number {
  const flight = new BindFlight(bindFlightBytes(1), systemClock);
  flight.opened({ localAddress: '127.0.0.1', localPort: 1, remoteAddress: '127.0.0.1', remotePort: 2, tls: false });
  const record = () => {
    for (const pdu of pdus) flight.sent(pdu, 0, pdu.length);
  };
  return cpuPerCallUs(record, durationMs, slice) / pdus.length;
}

function submit(octets: number, dataCoding: number): Buffer {
  return encoded(message('', { dataCoding, octets: Buffer.alloc(octets, 0x61) }));
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
  const ends = { source: message('').destination, destination: '12345' };
  return encoded(message(text, { ...ends, esmClass: 4 }), 'deliver_sm');
}

function answer(): Buffer {
  const room = Buffer.alloc(64);
  return room.subarray(0, encodeMessageId(room, 0, 'submit_sm_resp', 0, 1, '1234567890'));
}
