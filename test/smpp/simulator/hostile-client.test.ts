// Clients that violate the protocol towards a server: each ends its own session, the server and the others continue.
import net from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { withDeadline } from '../../../platform/deadline.ts';
import { until } from '../../support/until.ts';
import { encodeBare } from '../../../smpp/codec-hot.ts';
import { decodePdu, encodeBind, encodeQuery } from '../../../smpp/codec.ts';
import { commandStatus } from '../../../model/command-status.ts';
import { Framer } from '../../../smpp/framing.ts';
import { commandId, type Pdu } from '../../../smpp/pdu.ts';
import { bindFields } from '../bind-fields.ts';
import { parseLatency } from '../../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../../smpp/simulator/simulator.ts';
import { message } from '../messages.ts';
import { boundWitness, closeWitnesses } from '../support.ts';

let smsc: Simulator;
const raws: net.Socket[] = [];

beforeEach(async () => {
  smsc = await startSimulator({ latency: parseLatency('fixed:5')! });
});

afterEach(async () => {
  for (const socket of raws.splice(0)) socket.destroy();
  await closeWitnesses();
  await smsc.close();
});

function raw(): { socket: net.Socket; pdus: Pdu[]; gone: Promise<void> } {
  const socket = net.connect(smsc.port, '127.0.0.1');
  raws.push(socket);
  const pdus: Pdu[] = [];
  const framer = new Framer((buffer, start, end) => pdus.push(decodePdu(Buffer.from(buffer), start, end)));
  socket.on('data', (chunk: Buffer) => framer.push(chunk));
  const gone = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.on('error', () => {});
  return { socket, pdus, gone };
}

function bare(command: number, sequence: number): Buffer {
  const bytes = Buffer.alloc(16);
  encodeBare(bytes, 0, command, 0, sequence);
  return bytes;
}

const bind = encodeBind('bind_transceiver', 1, bindFields('heliograph', 'sandbox'));

function ofLength(length: number): Buffer {
  const bytes = bare(commandId.enquire_link, 1);
  bytes.writeUInt32BE(length, 0);
  return bytes;
}

// A submit_sm whose texts have no end.
const endless = Buffer.concat([bare(commandId.submit_sm, 2), Buffer.alloc(40, 0x61)]);
endless.writeUInt32BE(endless.length, 0);

describe('a client that sends', () => {
  test.each([
    ['garbage', Buffer.alloc(64, 0xc3)],
    ['a length of 0', ofLength(0)],
    ['a length of 3', ofLength(3)],
    ['a length of 15', ofLength(15)],
    ['a length of 10^9', ofLength(1_000_000_000)],
    ['a submit_sm without an end', endless],
  ])('%s ends its session and no other', async (_what, bytes) => {
    const sibling = await boundWitness(smsc.port);
    const { socket, pdus, gone } = raw();
    socket.write(bind);
    await until('the bind', () => pdus.length === 1);
    socket.write(bytes);
    await withDeadline('the cut', 3_000, gone);
    expect(smsc.stats()).toMatchObject({ sessionsBroken: 1, binds: { now: 1 } });
    sibling.session.submit(message('x'), 'x');
    await until('the sibling’s receipt', () => sibling.receipts.length === 1);
  });

  test('everything a byte at a time is served', async () => {
    const { socket, pdus } = raw();
    socket.setNoDelay(true);
    for (const byte of Buffer.concat([bind, bare(commandId.enquire_link, 2)])) socket.write(Buffer.from([byte]));
    await until('both answers', () => pdus.length === 2);
    expect(pdus.map((pdu) => [pdu.command, pdu.sequence])).toEqual([
      ['bind_transceiver_resp', 1],
      ['enquire_link_resp', 2],
    ]);
  });

  test('a PDU that is not allowed gets an error, and the session continues', async () => {
    const { socket, pdus } = raw();
    socket.write(Buffer.concat([bare(0xabc, 5), bare(commandId.unbind, 6), bare(0x80000abc, 7), bare(0x102, 8)]));
    socket.write(Buffer.concat([bind, bare(commandId.enquire_link, 9)]));
    await until('the answers', () => pdus.length === 4);
    expect(pdus.map((pdu) => [pdu.command, pdu.status, pdu.sequence])).toEqual([
      ['generic_nack', commandStatus.ESME_RINVCMDID, 5],
      ['unbind_resp', commandStatus.ESME_RINVBNDSTS, 6],
      ['bind_transceiver_resp', 0, 1],
      ['enquire_link_resp', 0, 9],
    ]);
  });

  test('query_sm is answered with the state', async () => {
    const seen = await boundWitness(smsc.port);
    seen.session.submit(message('x'), 'x');
    const { carrierMessageId } = await until('the receipt', () => seen.receipts[0]);
    const { socket, pdus } = raw();
    const from = { sourceTon: 5, sourceNpi: 0, source: 'Heliograph' };
    socket.write(Buffer.concat([bind, encodeQuery(2, { ...from, messageId: carrierMessageId })]));
    socket.write(encodeQuery(3, { ...from, messageId: 'nobody' }));
    await until('the answers', () => pdus.length === 3);
    expect(pdus[1]).toMatchObject({
      command: 'query_sm_resp',
      status: 0,
      messageState: 2,
      messageId: carrierMessageId,
    });
    expect(pdus[2]).toMatchObject({ status: commandStatus.ESME_RQUERYFAIL });
  });
});
