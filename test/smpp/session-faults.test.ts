// The client session against a simulator that violates the protocol, cuts the connection or does not read: only that
// session ends, and its outstanding submits are returned once.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { limits } from '../../platform/limits.ts';
import { commandStatus } from '../../model/command-status.ts';
import { type Simulator, startSimulator } from '../../smpp/simulator/simulator.ts';
import { message } from './messages.ts';
import { boundWitness, closeAt, closed, fast } from './support.ts';

let smsc: Simulator;
beforeEach(async () => {
  smsc = await startSimulator(fast);
});
afterEach(() => closeAt(smsc));

describe('a peer that violates the protocol ends only its own session', () => {
  const cases = [
    ['garbage', {}],
    ['bad-length', { arg: 0 }],
    ['bad-length', { arg: 3 }],
    ['bad-length', { arg: 15 }],
    ['bad-length', { arg: 1_000_000_000 }],
  ] as const;
  test.each(cases)('%s %o', async (name, args) => {
    const healthy = await startSimulator(fast);
    const sibling = await boundWitness(healthy.port);
    const seen = await boundWitness(smsc.port);
    smsc.setFault(name, { ...args, limit: 1 });
    seen.session.submit(message('x'), 'x');
    expect(await closed(seen)).toMatchObject({ cause: { kind: 'protocol' }, outstanding: ['x'] });
    sibling.session.submit(message('y'), 'y');
    await until('the sibling’s answer', () => sibling.responses.has('y'));
    await sibling.session.close('done', 1_000);
    await healthy.close();
  });

  test('an unknown command is answered with generic_nack and the session continues', async () => {
    const seen = await boundWitness(smsc.port);
    smsc.setFault('unknown-command', { limit: 1 });
    seen.session.submit(message('x'), 'x');
    await until('the answer', () => seen.responses.has('x'));
    expect(seen.closes).toEqual([]);
  });

  test('a generic_nack settles its submit as an error', async () => {
    const seen = await boundWitness(smsc.port);
    smsc.setFault('generic-nack', { limit: 1 });
    seen.session.submit(message('x'), 'x');
    const answer = await until('the answer', () => seen.responses.get('x'));
    expect(answer).toMatchObject({ status: commandStatus.ESME_RINVCMDID, carrierMessageId: '' });
    seen.session.submit(message('y'), 'y');
    await until('the next answer', () => seen.responses.get('y')?.status === 0);
  });

  test('a byte at a time is slow, and correct', async () => {
    const seen = await boundWitness(smsc.port);
    smsc.setFault('byte-at-a-time');
    for (let index = 0; index < 5; index += 1) seen.session.submit(message(`part ${index}`), String(index));
    await until('all receipts', () => seen.receipts.length === 5);
    expect(seen.responses.size).toBe(5);
  });

  test('an unbind mid-window returns the outstanding submits', async () => {
    const seen = await boundWitness(smsc.port);
    smsc.setFault('no-resp', { limit: 1 });
    seen.session.submit(message('x'), 'x');
    await until('the submit', () => smsc.stats().submits.total === 1);
    smsc.setFault('unbind', { limit: 1 });
    seen.session.submit(message('y'), 'y');
    expect(await closed(seen)).toMatchObject({ cause: { kind: 'peer_unbind' }, outstanding: ['x', 'y'] });
  });

  test('a cut connection returns the outstanding submits, once', async () => {
    const seen = await boundWitness(smsc.port);
    smsc.setFault('drop', { limit: 1 });
    seen.session.submit(message('x'), 'x');
    expect(await closed(seen)).toMatchObject({ cause: { kind: 'peer_closed' }, outstanding: ['x'] });
    expect(seen.closes.length).toBe(1);
  });
});

describe('a peer that does not read', () => {
  test('stops submits at the soft bound, with a window of any size', async () => {
    const seen = await boundWitness(smsc.port, { windowPdusMax: 1_000_000, responseTimerMs: 60_000 });
    smsc.setFault('stall');
    const text = 'x'.repeat(160);
    let submitted = 0;
    await until('the submits to be refused', async () => {
      for (let turn = 0; turn < 2_000; turn += 1) {
        if (!seen.session.submit(message(text), String(submitted))) return true;
        submitted += 1;
      }
      return false;
    });
    // Kernel buffers of both sides are not ours to bound; our own are.
    expect(submitted).toBeLessThan(200_000);
    expect(seen.session.submit(message(text), 'no')).toBe(false);
    const before = seen.windowOpened;
    smsc.setFault(null);
    await until('room again', () => seen.windowOpened > before);
    await until('all answers', () => seen.responses.size === submitted);
    expect(limits.smpp.writeBytesSoft).toBeLessThan(limits.smpp.writeBytesHard);
  });

  test('gets every submit once, also those written the moment there is capacity', async () => {
    const seen = await boundWitness(smsc.port, { windowPdusMax: 1_000_000, responseTimerMs: 60_000 });
    smsc.setFault('stall');
    let [next, most] = [0, Number.POSITIVE_INFINITY];
    const fill = () => {
      const text = () => `#${next.toString(36)}# ${'x'.repeat(120)}`;
      while (next < most && seen.session.submit(message(text(), { registeredDelivery: 0 }), String(next))) next += 1;
    };
    seen.onRoom = fill;
    fill();
    most = next + 5_000;
    smsc.setFault(null);
    await until('all answers', () => next === most && seen.responses.size === most);
    expect(smsc.stats()).toMatchObject({
      sessionsBroken: 0,
      submits: { total: most },
      nonces: { distinct: most, duplicated: 0 },
    });
  });

  test('slowly reads still gets everything', async () => {
    const seen = await boundWitness(smsc.port, { windowPdusMax: 50 });
    smsc.setFault('slow-read');
    for (let index = 0; index < 50; index += 1) seen.session.submit(message('x'.repeat(100)), String(index));
    await until('all answers', () => seen.responses.size === 50);
    smsc.setFault(null);
  });
});
