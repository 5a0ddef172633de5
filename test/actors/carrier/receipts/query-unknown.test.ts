// Querying late answered submits: when, how often, and what an answer becomes; then a real carrier against the
// simulator, where the receipt can never arrive because no receiver is bound.
import { afterEach, describe, expect, test } from 'vitest';
import type { KnownReceipt } from '../../../../actors/carrier/receipts/receipts.ts';
import { QueryUnknown } from '../../../../actors/carrier/receipts/query-unknown.ts';
import type { CarrierConfig } from '../../../../config/configuration.ts';
import { plainWire } from '../../../support/plain-wire.ts';
import { type Clock, systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { limits } from '../../../../platform/limits.ts';
import type { QueryFields } from '../../../../smpp/pdu.ts';
import type { QueryAnswer, QueryDone } from '../../../../smpp/request-window.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { eventsOf } from '../../../support/invariant.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { message as pduWith } from '../../../smpp/messages.ts';

describe('a late answered submit', () => {
  const [firstMs, secondMs, thirdMs] = limits.carrier.queryAfterMs as [number, number, number];

  function setUp(receiptId: CarrierConfig['receiptId'] = 'auto') {
    const clock = new ManualClock();
    const asked: { fields: QueryFields; done: QueryDone }[] = [];
    const receipts: { receipt: KnownReceipt; respond: (status: number) => void }[] = [];
    const state = { canAsk: true };
    const queries = new QueryUnknown({
      receiptId,
      clock,
      query: (fields, done) => state.canAsk && asked.push({ fields, done }) > 0,
      onReceipt: (receipt, respond) => receipts.push({ receipt, respond }),
    });
    const answer = (published: QueryAnswer) => asked.at(-1)!.done(published);
    return { clock, asked, receipts, state, queries, answer };
  }
  const published = (state: 'delivered' | 'enroute' | 'undelivered', errorCode = 0): QueryAnswer => {
    return { ok: true, state, errorCode };
  };

  test('is queried at its time, with its source address, and its state becomes a receipt', () => {
    const { clock, asked, receipts, queries, answer } = setUp();
    queries.watch('77', pduWith('x'), '+8801712345678');
    clock.advance(firstMs - 1);
    expect(asked).toEqual([]);
    clock.advance(1);
    expect(asked[0]!.fields).toEqual({ messageId: '77', sourceTon: 5, sourceNpi: 0, source: 'Heliograph' });
    answer(published('undelivered', 27));
    expect(receipts[0]!.receipt).toEqual({
      carrierMessageId: '77',
      state: 'undelivered',
      errorCode: '27',
      recipient: '+8801712345678',
      sender: 'Heliograph',
    });
    receipts[0]!.respond(0);
    expect([queries.size, clock.timers]).toEqual([0, 0]);
  });

  test('in transit is queried again, and then no more', () => {
    const { clock, asked, queries, answer } = setUp();
    queries.watch('77', pduWith('x'), '+8801712345678');
    for (const [index, waitMs] of [firstMs, secondMs, thirdMs].entries()) {
      clock.advance(waitMs);
      expect(asked).toHaveLength(index + 1);
      answer(index === 1 ? { ok: false, why: 'refused', status: 0x67 } : published('enroute'));
    }
    expect([queries.size, clock.timers]).toEqual([0, 0]);
  });

  test('is queried later when no bind is available, and an interrupted query does not count', () => {
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

  test('whose receipt could not be made durable is queried once more', () => {
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
    expect(receipts[0]!.receipt.carrierMessageId).toBe(written);
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

describe('on a real carrier', () => {
  let harness: CarrierHarness;
  afterEach(() => harness.stop());

  /** Minutes pass in milliseconds: only waits of the queries are that long. */
  const hurried: Clock = {
    ...systemClock,
    after: (delayMs, run) => systemClock.after(delayMs >= 60_000 ? 20 : delayMs, run),
  };

  test('a submit answered after its timer, whose receipt cannot arrive, is settled by a query', async () => {
    harness = await openCarrierHarness({ latency: 'fixed:1', response: 'fixed:1500' });
    const { simulator, bus } = harness;
    const destination = { format: 'national', callingCode: '880', nationalPrefix: '0', nationalDigitsMax: 10 } as const;
    const carrier = carrierWith(simulator, {
      // The timer of the queries as well: three that a slow machine answers too late would be the last.
      responseTimerMs: 1_000,
      wire: { ...plainWire, destination, querySm: true },
      bind: { type: 'transmitter', count: 1 },
    });
    await harness.actor(carrier, hurried);
    const [sent] = await harness.send(1);
    const eventsOfIt = async () => (await eventsOf(bus)).filter(({ messageId }) => messageId === sent!.messageId);
    const delivered = await until('delivered', async () =>
      (await eventsOfIt()).find(({ kind }) => kind === 'delivered'),
    );
    const events = await eventsOfIt();
    expect(events.map(({ kind }) => kind).toSorted()).toEqual(['delivered', 'intent', 'submitted', 'unknown']);
    const submitted = events.find(({ kind }) => kind === 'submitted');
    expect(submitted!.carrierMessageId).toMatch(/./);
    expect(delivered.carrierMessageId).toBe(submitted!.carrierMessageId);
    expect(simulator.stats().submits.total).toBe(1);
    expect(simulator.stats().receipts.sent).toBe(0);
  });
});
