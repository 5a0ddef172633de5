// A session that may not write any more: nothing is sent, not even what was submitted a moment before, and the peer
// sees the connection reset.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { type Simulator, startSimulator } from '../../smpp/simulator/simulator.ts';
import { message } from './messages.ts';
import { boundWitness, closeAt, fast } from './support.ts';

let smsc: Simulator;
beforeEach(async () => {
  smsc = await startSimulator(fast);
});
afterEach(() => closeAt(smsc));

test('a submit is refused, and what was submitted before the fence and not written yet is never written', async () => {
  let mayWrite = true;
  const seen = await boundWitness(smsc.port, { mayWrite: () => mayWrite });
  expect(seen.session.submit(message('first'), 'first')).toBe(true);
  await until('the first answer', () => seen.responses.size === 1);
  // It is written at the end of the turn; after a stall in between the session is fenced.
  expect(seen.session.submit(message('second'), 'second')).toBe(true);
  mayWrite = false;
  expect(seen.session.submit(message('third'), 'third')).toBe(false);
  await until('the end of the session', () => seen.closes.length === 1);
  expect(seen.closes[0]).toMatchObject({ cause: { kind: 'fenced' }, outstanding: ['second'] });
  await until('the peer has noticed', () => smsc.stats().binds.now === 0);
  expect(smsc.stats().submits.total).toBe(1);
});

test('a session is cut without an unbind, and returns the outstanding submits', async () => {
  const seen = await boundWitness(smsc.port, { mayWrite: () => true });
  smsc.setFault('no-resp');
  seen.session.submit(message('on its way'), 'on its way');
  await until('it has arrived', () => smsc.stats().submits.total === 1);
  seen.session.cut('declared dead');
  expect(seen.closes).toMatchObject([{ cause: { kind: 'fenced', why: 'declared dead' }, outstanding: ['on its way'] }]);
});
