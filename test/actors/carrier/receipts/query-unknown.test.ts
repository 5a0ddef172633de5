// Asking about late answered submits: when, how often, what an answer becomes; and the whole way on real binds
// against the simulator, where the receipt can never come because nobody is bound to take it.
import { afterEach, describe, expect, test } from 'vitest';
import { CarrierBinds } from '../../../../actors/carrier/binds/binds.ts';
import type { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import { QueryUnknown } from '../../../../actors/carrier/receipts/query-unknown.ts';
import type { SubmitToken } from '../../../../actors/carrier/in-flight/submit-token.ts';
import { segmentsOf, submitPdu } from '../../../../actors/carrier/submit/submit-pdu.ts';
import type { CarrierConfig } from '../../../../config/configuration.ts';
import { plainWire } from '../../../../config/wire.ts';
import { type Clock, systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../../platform/deadline.ts';
import { limits } from '../../../../platform/limits.ts';
import type { QueryFields, ShortMessagePdu } from '../../../../smpp/pdu.ts';
import type { QueryAnswer, QueryDone } from '../../../../smpp/query-window.ts';
import { parseReceipt } from '../../../../smpp/receipt.ts';
import { ReconnectBudget } from '../../../../smpp/reconnect-budget.ts';
import { parseLatency } from '../../../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../../../smpp/simulator/simulator.ts';
import { carrierWith } from '../../../support/carrier-harness.ts';
import { messageWith } from '../../../support/messages.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { message as pduWith } from '../../../smpp/messages.ts';

describe('a late answered submit', () => {
  const [firstMs, secondMs, thirdMs] = limits.carrier.queryAfterMs as [number, number, number];

  function setUp(receiptId: CarrierConfig['receiptId'] = 'auto') {
    const clock = new ManualClock();
    const asked: { fields: QueryFields; done: QueryDone }[] = [];
    const receipts: { pdu: ShortMessagePdu; respond: (status: number) => void }[] = [];
    const state = { canAsk: true };
    const queries = new QueryUnknown({
      receiptId,
      clock,
      query: (fields, done) => state.canAsk && asked.push({ fields, done }) > 0,
      onReceipt: (pdu, respond) => receipts.push({ pdu, respond }),
    });
    const answer = (published: QueryAnswer) => asked.at(-1)!.done(published);
    return { clock, asked, receipts, state, queries, answer };
  }
  const published = (state: 'delivered' | 'enroute' | 'undelivered', errorCode = 0): QueryAnswer => {
    return { ok: true, carrierMessageId: '77', state, errorCode, finalDate: '' };
  };
  const receiptOf = (pdu: ShortMessagePdu) => {
    const reading = parseReceipt(pdu);
    return reading.kind === 'receipt' ? reading.receipt : undefined;
  };

  test('is asked about at its time, with the address it went out with, and its state becomes a receipt', () => {
    const { clock, asked, receipts, queries, answer } = setUp();
    queries.watch('77', pduWith('x'), '+8801712345678');
    clock.advance(firstMs - 1);
    expect(asked).toEqual([]);
    clock.advance(1);
    expect(asked[0]!.fields).toEqual({ messageId: '77', sourceTon: 5, sourceNpi: 0, source: 'Heliograph' });
    answer(published('undelivered', 27));
    expect(receiptOf(receipts[0]!.pdu)).toMatchObject({
      carrierMessageId: '77',
      state: 'undelivered',
      errorCode: '27',
      recipient: '8801712345678',
      sender: 'Heliograph',
    });
    receipts[0]!.respond(0);
    expect([queries.size, clock.timers]).toEqual([0, 0]);
  });

  test('on its way is asked about again, and then left alone', () => {
    const { clock, asked, queries, answer } = setUp();
    queries.watch('77', pduWith('x'), '+8801712345678');
    for (const [index, waitMs] of [firstMs, secondMs, thirdMs].entries()) {
      clock.advance(waitMs);
      expect(asked).toHaveLength(index + 1);
      answer(index === 1 ? { ok: false, why: 'refused', status: 0x67 } : published('enroute'));
    }
    expect([queries.size, clock.timers]).toEqual([0, 0]);
  });

  test('is asked about later when no bind is there, and a question cut off does not count', () => {
    const { clock, asked, state, queries, answer } = setUp();
    state.canAsk = false;
    queries.watch('77', pduWith('x'), '+8801712345678');
    clock.advance(firstMs);
    state.canAsk = true;
    clock.advance(5_000);
    expect(asked).toHaveLength(1);
    answer({ ok: false, why: 'closed' });
    clock.advance(5_000);
    expect(asked).toHaveLength(2);
  });

  test('whose receipt could not be made safe is asked about once more', () => {
    const { clock, asked, receipts, queries, answer } = setUp();
    queries.watch('77', pduWith('x'), '+8801712345678');
    clock.advance(firstMs);
    answer(published('delivered'));
    receipts[0]!.respond(0x64);
    clock.advance(5_000);
    expect(asked).toHaveLength(2);
  });

  test.each([
    ['hex', 'ff', '255'],
    ['decimal', '255', 'ff'],
    ['raw', '0FF', '0FF'],
    ['auto', '0FF', '0FF'],
  ] as const)('with receipts read as %s has its id %s written %s', (receiptId, id, written) => {
    const { clock, receipts, queries, answer } = setUp(receiptId);
    queries.watch(id, pduWith('x'), '+8801712345678');
    clock.advance(firstMs);
    answer(published('delivered'));
    expect(receiptOf(receipts[0]!.pdu)?.carrierMessageId).toBe(written);
  });

  test('is forgotten when there are too many, and when the carrier closes', () => {
    const { clock, queries } = setUp();
    for (let index = 0; index <= limits.carrier.queriedSubmitsMax; index += 1) {
      queries.watch(`id-${index}`, pduWith('x'), '+8801712345678');
    }
    expect(queries.size).toBe(limits.carrier.queriedSubmitsMax);
    queries.close();
    queries.watch('late', pduWith('x'), '+8801712345678');
    expect([queries.size, clock.timers]).toEqual([0, 0]);
  });
});

describe('on real binds', () => {
  let smsc: Simulator;
  let binds: CarrierBinds;
  afterEach(async () => {
    await binds.close('the test is over', 100);
    await smsc.close();
  });

  /** Minutes pass in milliseconds: only waits of the questions are that long. */
  const hurried: Clock = {
    nowMs: () => systemClock.nowMs(),
    monotonicMs: () => systemClock.monotonicMs(),
    after: (delayMs, run) => systemClock.after(delayMs >= 60_000 ? 20 : delayMs, run),
    every: (intervalMs, run) => systemClock.every(intervalMs, run),
    sleep: (delayMs) => systemClock.sleep(delayMs),
  };

  test('a submit answered after its timer, whose receipt nobody can take, is settled by a question', async () => {
    smsc = await startSimulator({
      magic: false,
      latency: parseLatency('fixed:1')!,
      response: parseLatency('fixed:300')!,
    });
    const destination = { format: 'national', callingCode: '880', nationalPrefix: '0', nationalDigitsMax: 10 } as const;
    const carrier = carrierWith(smsc, {
      responseTimerMs: 100,
      wire: { ...plainWire, destination, querySm: true },
      bind: { type: 'transmitter', count: 1 },
    });
    const seen = { timeouts: 0, late: [] as string[], delivers: [] as ShortMessagePdu[] };
    binds = new CarrierBinds(carrier, {}, new ReconnectBudget(20), hurried, {
      onAnswer: () => {},
      onNoAnswer: () => (seen.timeouts += 1),
      onLateAnswer: (_token, answer) => seen.late.push(answer.carrierMessageId),
      onDeliver: (pdu, respond) => {
        seen.delivers.push(pdu);
        respond(0);
      },
      onRoom: () => {},
    });
    await until('the bind', () => binds.boundCount === 1);
    const message = messageWith();
    const pdus = segmentsOf(message, carrier);
    const token = { inFlight: { message, pdus } as unknown as InFlightMessage, segment: 1, attempt: 1 } as SubmitToken;
    expect(binds.ports[0]!.submit(submitPdu(message, pdus[0]!, carrier, systemClock.nowMs()), token)).toBe(true);
    await until('the late answer', () => seen.late.length === 1);
    const pdu = await until('the receipt made of the answer', () => seen.delivers[0]);
    expect(seen.timeouts).toBe(1);
    expect(parseReceipt(pdu)).toMatchObject({
      kind: 'receipt',
      receipt: { carrierMessageId: seen.late[0], state: 'delivered', recipient: '8801712345678', sender: 'HELIO' },
    });
    expect(smsc.stats().receipts.sent).toBe(0);
  });
});
