// cancel_sm between session and simulator: a message whose receipt is still to come is taken back, any other is not; and
// never at the cost of a message.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../platform/limits.ts';
import { commandStatus } from '../../model/command-status.ts';
import type { CancelFields } from '../../smpp/pdu.ts';
import type { CancelAnswer } from '../../smpp/request-window.ts';
import { parseLatency } from '../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../smpp/simulator/simulator.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';
import { bindFields } from './bind-fields.ts';
import { message } from './messages.ts';
import { boundWitness, closeWitnesses, type Witness } from './support.ts';

const password = 'sandbox';
let smsc: Simulator;
beforeEach(async () => {
  const accounts = ['heliograph', 'other'].map((systemId) => ({ systemId, password, tps: 0 }));
  smsc = await startSimulator({ accounts, latency: parseLatency('fixed:5')! });
});
afterEach(async () => {
  await closeWitnesses();
  await smsc.close();
});

/** Delivered after 30 s, at once and never. */
const [slow, quick, never] = ['8801700010004', '8801700010000', '8801700010005'];
const refused = { ok: false, why: 'refused', status: commandStatus.ESME_RCANCELFAIL };

function fieldsOf(messageId: string, destination: string): CancelFields {
  const { sourceTon, sourceNpi, source, destinationTon, destinationNpi } = message('x');
  return { messageId, sourceTon, sourceNpi, source, destinationTon, destinationNpi, destination };
}
async function submitted(seen: Witness, destination: string): Promise<CancelFields> {
  seen.session.submit(message('x', { destination }), destination);
  const { carrierMessageId } = await until('the response', () => seen.responses.get(destination));
  return fieldsOf(carrierMessageId, destination);
}
function ask(seen: Witness, fields: CancelFields): CancelAnswer[] {
  const answers: CancelAnswer[] = [];
  expect(seen.session.cancel(fields, (answer) => answers.push(answer))).toBe(true);
  return answers;
}
const answered = (answers: CancelAnswer[]) => until('the answer', () => answers[0]);
const statesOf = (seen: Witness) => seen.receipts.map(({ state }) => state);

describe('a message whose receipt is to come', () => {
  test('is taken back: a receipt DELETED and no other, and a second cancel_sm is refused', async () => {
    const seen = await boundWitness(smsc.port);
    const fields = await submitted(seen, slow);
    expect(await answered(ask(seen, fields))).toEqual({ ok: true });
    await until('the receipt', () => seen.receipts.length === 1);
    expect(statesOf(seen)).toEqual(['deleted']);
    expect(await answered(ask(seen, fields))).toEqual(refused);
    expect(smsc.stats().cancels).toEqual({ total: 2, canceled: 1 });
  });
  test('is taken back without addresses, and not with those of another', async () => {
    const seen = await boundWitness(smsc.port);
    const fields = await submitted(seen, slow);
    expect(await answered(ask(seen, { ...fields, destination: '8801700010009' }))).toEqual(refused);
    expect(await answered(ask(seen, { ...fields, source: 'Other' }))).toEqual(refused);
    expect(await answered(ask(seen, { ...fields, source: '', destination: '' }))).toEqual({ ok: true });
  });
  test('is not taken back by another account', async () => {
    const seen = await boundWitness(smsc.port);
    const fields = await submitted(seen, slow);
    const bind = { type: 'transceiver', ...bindFields('other', password) } as const;
    const stranger = await boundWitness(smsc.port, { bind });
    expect(await answered(ask(stranger, fields))).toEqual(refused);
    expect(smsc.stats().cancels.canceled).toBe(0);
  });
  test('stays when the carrier refuses all', async () => {
    const seen = await boundWitness(smsc.port);
    const fields = await submitted(seen, slow);
    smsc.setFault('cancel-fail', { limit: 1 });
    expect(await answered(ask(seen, fields))).toEqual(refused);
    expect(await answered(ask(seen, fields))).toEqual({ ok: true });
  });
});

test('one that is delivered, one without a receipt and one that is unknown are refused', async () => {
  const seen = await boundWitness(smsc.port);
  const delivered = await submitted(seen, quick);
  await until('the receipt', () => seen.receipts.length === 1);
  expect(await answered(ask(seen, delivered))).toEqual(refused);
  expect(await answered(ask(seen, await submitted(seen, never)))).toEqual(refused);
  expect(await answered(ask(seen, fieldsOf('nobody', slow)))).toEqual(refused);
  expect(statesOf(seen)).toEqual(['delivered']);
});

test('without an answer it ends at the response timer, once, and the session continues', async () => {
  const clock = new ManualClock();
  const seen = await boundWitness(smsc.port, { responseTimerMs: 100, clock });
  smsc.setFault('no-cancel-resp');
  const answers = ask(seen, fieldsOf('1', slow));
  await until('the cancel_sm', () => smsc.stats().cancels.total === 1);
  clock.advance(100);
  expect(answers).toEqual([{ ok: false, why: 'timeout' }]);
  seen.session.submit(message('x'), 'x');
  await until('the response', () => seen.responses.has('x'));
  expect(answers).toHaveLength(1);
  expect(seen.closes).toEqual([]);
});

test('it uses no slot of the window, has few slots of its own, and ends with the session', async () => {
  const seen = await boundWitness(smsc.port, { windowPdusMax: 2 });
  smsc.setFault('no-cancel-resp');
  const all = Array.from({ length: limits.smpp.cancelsMax }, (_, index) => ask(seen, fieldsOf(String(index), slow)));
  expect(seen.session.cancel(fieldsOf('one more', slow), () => {})).toBe(false);
  expect(seen.session.windowFree).toBe(2);
  seen.session.submit(message('x'), 'x');
  await until('the response', () => seen.responses.has('x'));
  await seen.session.close('done', 500);
  expect(all).toEqual(all.map(() => [{ ok: false, why: 'closed' }]));
  expect(seen.session.cancel(fieldsOf('late', slow), () => {})).toBe(false);
});

test('it is not sent while the window is full of messages, nor by a receiver', async () => {
  const seen = await boundWitness(smsc.port, { windowPdusMax: 1 });
  smsc.setFault('no-resp', { limit: 1 });
  seen.session.submit(message('x'), 'x');
  expect(seen.session.cancel(fieldsOf('1', slow), () => {})).toBe(false);
  const receiver = await boundWitness(smsc.port, { type: 'receiver' });
  expect(receiver.session.cancel(fieldsOf('1', slow), () => {})).toBe(false);
});
