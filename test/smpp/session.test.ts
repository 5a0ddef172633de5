// The client session against the simulator over TCP: window, timers, keepalive, binds, and the peer's deliveries.
import net from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { commandStatus } from '../../model/command-status.ts';
import { bindFields } from './bind-fields.ts';
import { parseLatency } from '../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../smpp/simulator/simulator.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { message } from './messages.ts';
import { boundWitness, closeAt, closed, fast, witness } from './support.ts';

let smsc: Simulator;

beforeEach(async () => {
  smsc = await startSimulator(fast);
});
afterEach(() => closeAt(smsc));

describe('a session', () => {
  test.each(['transmitter', 'receiver', 'transceiver'] as const)('binds as %s and unbinds', async (type) => {
    const seen = await boundWitness(smsc.port, { type });
    expect(seen.session.state).toBe({ transmitter: 'bound_tx', receiver: 'bound_rx', transceiver: 'bound_trx' }[type]);
    await seen.session.close('done', 1_000);
    expect(seen.closes).toEqual([{ cause: { kind: 'asked', why: 'done' }, outstanding: [] }]);
    expect(seen.session.submit(message('late'), 'late')).toBe(false);
  });

  test('submits, gets the id, and the receipt of that id', async () => {
    const seen = await boundWitness(smsc.port);
    expect(seen.session.submit(message('hello'), 'one')).toBe(true);
    const receipt = await until('the receipt', () => seen.receipts[0]);
    expect(seen.responses.get('one')).toMatchObject({ status: 0, carrierMessageId: receipt.carrierMessageId });
    expect(receipt).toMatchObject({ state: 'delivered', recipient: '8801712345678', sender: 'Heliograph' });
    await until('the receipt to be acknowledged', () => smsc.stats().receipts.acked === 1);
  });

  test('never has more outstanding than its window, and reports when a slot is free again', async () => {
    await smsc.close();
    smsc = await startSimulator({ ...fast, response: parseLatency('fixed:50')! });
    const seen = await boundWitness(smsc.port, { windowPdusMax: 3 });
    const taken = ['a', 'b', 'c', 'd'].map((token) => seen.session.submit(message(token), token));
    expect(taken).toEqual([true, true, true, false]);
    expect(seen.session.windowUsed).toBe(3);
    await until('room', () => seen.windowOpened === 1 && seen.session.windowUsed === 0);
    expect(seen.session.submit(message('d'), 'd')).toBe(true);
    await until('all answers', () => seen.responses.size === 4);
    expect(seen.windowOpened).toBe(1);
  });

  test('as a receiver refuses submits, and as a transmitter gets no receipts', async () => {
    const receiver = await boundWitness(smsc.port, { type: 'receiver' });
    expect(receiver.session.submit(message('x'), 'x')).toBe(false);
    const transmitter = await boundWitness(smsc.port, { type: 'transmitter' });
    transmitter.session.submit(message('y'), 'y');
    await until('the receipt on the receiver', () => receiver.receipts.length === 1);
    expect(transmitter.receipts).toEqual([]);
  });

  test('that closes waits for pending responses, then unbinds', async () => {
    await smsc.close();
    smsc = await startSimulator({ ...fast, response: parseLatency('fixed:100')! });
    const seen = await boundWitness(smsc.port);
    seen.session.submit(message('x'), 'x');
    const done = seen.session.close('drain', 2_000);
    expect(seen.session.submit(message('y'), 'y')).toBe(false);
    await done;
    expect(seen.responses.has('x')).toBe(true);
    expect(seen.closes[0]).toEqual({ cause: { kind: 'asked', why: 'drain' }, outstanding: [] });
  });

  test('that closes without a response returns the outstanding submits', async () => {
    const seen = await boundWitness(smsc.port);
    smsc.setFault('no-resp');
    seen.session.submit(message('x'), 'x');
    await seen.session.close('drain', 50);
    expect(seen.closes).toEqual([{ cause: { kind: 'asked', why: 'drain' }, outstanding: ['x'] }]);
  });

  test('sends all submits of one turn in one write', async () => {
    const chunks: number[] = [];
    const server = net.createServer((socket) => {
      socket.on('data', (chunk) => {
        chunks.push(chunk.length);
        // The answer to the first bind, by hand.
        if (chunks.length === 1) socket.write(Buffer.from('0000001180000009000000000000000100', 'hex'));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const seen = await boundWitness((server.address() as net.AddressInfo).port, { windowPdusMax: 100 });
    for (let index = 0; index < 50; index += 1) seen.session.submit(message('x'.repeat(100)), String(index));
    await until('the submits', () => chunks.length > 1);
    expect(chunks[1]).toBeGreaterThan(50 * 100);
    await seen.session.close('done', 0);
    server.close();
  });
});

describe('the response timer', () => {
  test('frees the slot of an unanswered submit, and a late response still has the id', async () => {
    await smsc.close();
    smsc = await startSimulator({ ...fast, response: parseLatency('fixed:300')! });
    const seen = await boundWitness(smsc.port, { windowPdusMax: 1, responseTimerMs: 100 });
    seen.session.submit(message('x'), 'x');
    expect(seen.session.submit(message('y'), 'y')).toBe(false);
    await until('the timeout', () => seen.timeouts.length === 1);
    await until('room', () => seen.windowOpened === 1);
    expect(seen.session.windowFree).toBe(1);
    const late = await until('the late answer', () => seen.lateResponses.get('x'));
    expect(late.carrierMessageId).toMatch(/^\d+$/);
    expect(seen.responses.size).toBe(0);
  });

  test('reopens the bind after three timeouts in a row, not after two', async () => {
    const clock = new ManualClock();
    const seen = await boundWitness(smsc.port, { windowPdusMax: 10, responseTimerMs: 60, clock });
    smsc.setFault('no-resp', { limit: 2 });
    for (const token of ['a', 'b']) seen.session.submit(message(token), token);
    await until('both there', () => smsc.stats().submits.total === 2);
    clock.advance(60);
    expect(seen.timeouts).toEqual(['a', 'b']);
    seen.session.submit(message('c'), 'c');
    await until('an answer', () => seen.responses.size === 1);
    smsc.setFault('no-resp');
    for (const token of ['d', 'e', 'f', 'g']) seen.session.submit(message(token), token);
    await until('all there', () => smsc.stats().submits.total === 7);
    clock.advance(60);
    const { cause } = await closed(seen);
    expect(cause.kind).toBe('response_timeouts');
    expect(seen.timeouts).toEqual(['a', 'b', 'd', 'e', 'f', 'g']);
  });
});

describe('the keepalive', () => {
  test('closes a session whose peer leaves enquire_link unanswered, within two intervals', async () => {
    const clock = new ManualClock();
    const seen = await boundWitness(smsc.port, { enquireLinkMs: 100, clock });
    smsc.setFault('no-enquire-resp');
    clock.advance(100);
    await until('the question', () => smsc.stats().enquireLinks === 1);
    expect(seen.closes).toEqual([]);
    clock.advance(100);
    const { cause } = await closed(seen);
    expect(cause.kind).toBe('keepalive');
  });

  test('keeps a session whose peer answers', async () => {
    const seen = await boundWitness(smsc.port, { enquireLinkMs: 100 });
    await until('some rounds', () => smsc.stats().enquireLinks >= 5);
    expect(seen.closes).toEqual([]);
  });

  test('notices a peer that stops reading and answering', async () => {
    const seen = await boundWitness(smsc.port, { enquireLinkMs: 100, responseTimerMs: 60_000 });
    smsc.setFault('stall');
    seen.session.submit(message('x'), 'x');
    expect(await closed(seen)).toMatchObject({ cause: { kind: 'keepalive' }, outstanding: ['x'] });
    smsc.setFault(null);
  });
});

describe('a bind', () => {
  test('with a wrong password or system id is refused with its own status', async () => {
    const wrong = witness(smsc.port, { bind: { type: 'transceiver', ...bindFields('heliograph', 'wrong') } });
    expect((await closed(wrong)).cause).toMatchObject({ kind: 'bind_refused', status: commandStatus.ESME_RINVPASWD });
    const unknown = witness(smsc.port, { bind: { type: 'transceiver', ...bindFields('nobody', 'sandbox') } });
    expect((await closed(unknown)).cause).toMatchObject({ kind: 'bind_refused', status: commandStatus.ESME_RINVSYSID });
  });

  test('with credentials in use is refused with ESME_RALYBND', async () => {
    smsc.setFault('already-bound', { limit: 1 });
    const seen = witness(smsc.port);
    expect((await closed(seen)).cause).toMatchObject({ status: commandStatus.ESME_RALYBND });
    await boundWitness(smsc.port);
  });

  test('that is never answered ends at the bind timer', async () => {
    smsc.setFault('no-bind-resp');
    const seen = witness(smsc.port, { bindTimerMs: 80 });
    expect((await closed(seen)).cause.kind).toBe('bind_timeout');
  });

  test('to a closed port fails', async () => {
    const other = await startSimulator(fast);
    await other.close();
    const seen = witness(other.port);
    expect((await closed(seen)).cause).toMatchObject({
      kind: 'connect_failed',
      why: expect.stringMatching('ECONNREFUSED'),
    });
  });

  test('can be canceled before it is bound', async () => {
    smsc.setFault('no-bind-resp');
    const seen = witness(smsc.port);
    await seen.session.close('changed my mind', 1_000);
    expect(seen.closes[0]?.cause.kind).toBe('asked');
  });
});

describe('deliveries', () => {
  test('are answered only by their handler', async () => {
    const seen = await boundWitness(smsc.port);
    seen.answerWith = undefined;
    seen.session.submit(message('x'), 'x');
    await until('the receipt', () => seen.receipts.length === 1);
    await until('a round of the keepalive', () => smsc.stats().receipts.pending === 1);
    expect(smsc.stats().receipts.acked).toBe(0);
  });

  test('that were not acknowledged are repeated on the next bind', async () => {
    const seen = await boundWitness(smsc.port);
    seen.answerWith = undefined;
    seen.session.submit(message('x'), 'x');
    await until('the receipt', () => seen.receipts.length === 1);
    smsc.setFault('drop', { now: true });
    await closed(seen);
    const next = await boundWitness(smsc.port);
    await until('the receipt again', () => next.receipts.length === 1);
    expect(next.receipts[0]?.carrierMessageId).toBe(seen.receipts[0]?.carrierMessageId);
    await until('the acknowledgement', () => smsc.stats().receipts.acked === 1);
  });

  test('refused temporarily are repeated', async () => {
    const seen = await boundWitness(smsc.port);
    seen.answerWith = commandStatus.ESME_RX_T_APPN;
    seen.session.submit(message('x'), 'x');
    await until('the receipt', () => seen.receipts.length === 1);
    seen.answerWith = 0;
    await until('the receipt again', () => seen.receipts.length === 2);
    await until('the acknowledgement', () => smsc.stats().receipts.acked === 1);
  });

  test('of a long inbound message arrive as one payload', async () => {
    const seen = await boundWitness(smsc.port);
    smsc.sendInbound({ from: '+8801712345678', to: '16000', text: 'y'.repeat(300) });
    const octets = await until('the message', () => seen.inbound[0]);
    expect(octets.toString('latin1')).toBe('y'.repeat(300));
  });
});
