// query_sm between session and simulator: answered, refused, unanswered, interrupted; and never at the cost of a
// message.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { limits } from '../../platform/limits.ts';
import { commandStatus } from '../../model/command-status.ts';
import type { QueryAnswer } from '../../smpp/request-window.ts';
import { parseLatency } from '../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../smpp/simulator/simulator.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { message } from './messages.ts';
import { boundWitness, closeWitnesses, type Witness } from './support.ts';

let smsc: Simulator;
beforeEach(async () => {
  smsc = await startSimulator({ latency: parseLatency('fixed:5')! });
});
afterEach(async () => {
  await closeWitnesses();
  await smsc.close();
});

const fieldsOf = (messageId: string) => ({ messageId, sourceTon: 5, sourceNpi: 0, source: 'Heliograph' });

function ask(seen: Witness, messageId: string): QueryAnswer[] {
  const answers: QueryAnswer[] = [];
  expect(seen.session.query(fieldsOf(messageId), (answer) => answers.push(answer))).toBe(true);
  return answers;
}

test('returns the final state of a delivered and of an undelivered message', async () => {
  const seen = await boundWitness(smsc.port);
  seen.session.submit(message('x', { destination: '8801700010000' }), 'good');
  seen.session.submit(message('x', { destination: '8801700010001' }), 'bad');
  await until('both receipts', () => seen.receipts.length === 2);
  for (const [token, state] of [
    ['good', 'delivered'],
    ['bad', 'undelivered'],
  ] as const) {
    const { carrierMessageId } = seen.responses.get(token)!;
    const answers = ask(seen, carrierMessageId);
    expect(await until('the answer', () => answers[0])).toMatchObject({ ok: true, state });
  }
  expect(smsc.stats().queries).toBe(2);
});

test('returns that a message is still en route', async () => {
  const seen = await boundWitness(smsc.port);
  seen.session.submit(message('x', { destination: '8801700010005' }), 'x');
  const { carrierMessageId } = await until('the response', () => seen.responses.get('x'));
  const answers = ask(seen, carrierMessageId);
  expect(await until('the answer', () => answers[0])).toMatchObject({ ok: true, state: 'enroute' });
});

test('is refused for an unknown message', async () => {
  const seen = await boundWitness(smsc.port);
  const answers = ask(seen, 'nobody');
  const status = commandStatus.ESME_RQUERYFAIL;
  expect(await until('the answer', () => answers[0])).toEqual({ ok: false, why: 'refused', status });
});

test('without an answer ends at the response timer, once, and the session continues', async () => {
  const clock = new ManualClock();
  const seen = await boundWitness(smsc.port, { responseTimerMs: 100, clock });
  smsc.setFault('no-query-resp');
  const answers = ask(seen, '1');
  await until('the question', () => smsc.stats().queries === 1);
  clock.advance(100);
  expect(answers[0]).toEqual({ ok: false, why: 'timeout' });
  seen.session.submit(message('x'), 'x');
  await until('the response', () => seen.responses.has('x'));
  expect(answers).toHaveLength(1);
  expect(seen.closes).toEqual([]);
});

test('uses no slot of the window, has few slots of its own, and ends with the session', async () => {
  const seen = await boundWitness(smsc.port, { windowPdusMax: 2 });
  smsc.setFault('no-query-resp');
  const all = Array.from({ length: limits.smpp.queriesMax }, (_, index) => ask(seen, String(index)));
  expect(seen.session.query(fieldsOf('one more'), () => {})).toBe(false);
  expect(seen.session.windowFree).toBe(2);
  seen.session.submit(message('x'), 'x');
  await until('the response', () => seen.responses.has('x'));
  await seen.session.close('done', 500);
  expect(all).toEqual(all.map(() => [{ ok: false, why: 'closed' }]));
  expect(seen.session.query(fieldsOf('late'), () => {})).toBe(false);
});

test('is not possible as a receiver', async () => {
  const seen = await boundWitness(smsc.port, { type: 'receiver' });
  expect(seen.session.query(fieldsOf('1'), () => {})).toBe(false);
});
