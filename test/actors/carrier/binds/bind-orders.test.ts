// What orders do to binds, without any bind: whatever is ordered in whatever order, a bind rests exactly while it is
// drained, takes submits exactly while it runs, and a carrier is what its binds leave of it.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BindOrders, type OrderedBind } from '../../../../actors/carrier/binds/bind-orders.ts';
import { contractNow } from '../../../../actors/carrier/binds/take-orders.ts';
import type { Order, OrderVerb } from '../../../../cluster/operator-commands/contract.ts';
import { orderedOfBind } from '../../../../cluster/operator-commands/orders.ts';
import type { AuditId } from '../../../../model/ids.ts';
import { carrierWith } from '../../../support/carrier-house.ts';

type Witness = OrderedBind<never> & { resting: boolean; retries: number };

function bind(type: OrderedBind<never>['type']): Witness {
  const witness: Witness = {
    type,
    ordered: 'running',
    resting: false,
    retries: 0,
    gate: {
      rest: async () => void (witness.resting = true),
      wake: () => void (witness.resting = false),
      retry: () => void (witness.retries += 1),
    },
  };
  return witness;
}

const verbs: readonly OrderVerb[] = ['pause', 'drain', 'resume'];
let count = 0;
function order(verb: OrderVerb, nth: number | null): Order {
  count += 1;
  return {
    v: 1,
    id: `aud_${count}` as AuditId,
    atMs: count,
    verb,
    carrier: 'alpha',
    bind: nth,
    reason: '',
    actor: 'a',
    from: 'b',
  };
}

const steps = fc.array(fc.tuple(fc.constantFrom(...verbs), fc.constantFrom(null, 1, 2, 3)), { maxLength: 20 });

test('after any orders a bind is what the stricter of its own and its carrier’s says', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (given) => {
      const binds = [bind('transmitter'), bind('receiver'), bind('transceiver')];
      const orders = new BindOrders<never>(binds, 10);
      let carrier: Order | null = null;
      const own = new Map<number, Order>();
      for (const [verb, nth] of given) {
        if (nth === null) carrier = order(verb, null);
        else own.set(nth, order(verb, nth));
        const standing = { carrier, binds: new Map(own) };
        orders.take(standing);
        // Receivers rest a moment after the others.
        await new Promise((resolve) => setImmediate(resolve));
        for (const [index, each] of binds.entries()) {
          expect(each.ordered).toBe(orderedOfBind(standing, index + 1));
          expect(each.resting).toBe(each.ordered === 'drained');
        }
        const submitting = binds.filter(({ type }) => type !== 'receiver').map(({ ordered }) => ordered);
        expect(orders.ordered === 'running').toBe(
          carrier?.verb !== 'pause' && carrier?.verb !== 'drain' && submitting.includes('running'),
        );
      }
    }),
  );
});

test('a resume tries again what was given up, of the whole carrier or of one bind, and only once', () => {
  const binds = [bind('transceiver'), bind('transceiver')];
  const orders = new BindOrders<never>(binds, 10);
  const resume = order('resume', null);
  orders.take({ carrier: resume, binds: new Map() });
  orders.take({ carrier: resume, binds: new Map() });
  expect(binds.map(({ retries }) => retries)).toEqual([1, 1]);
  orders.take({ carrier: resume, binds: new Map([[2, order('resume', 2)]]) });
  expect(binds.map(({ retries }) => retries)).toEqual([1, 2]);
  const paused = order('pause', 1);
  orders.take({ carrier: order('resume', null), binds: new Map([[1, paused]]) });
  expect(binds.map(({ retries }) => retries)).toEqual([1, 3]);
});

test('a contract of each bind is that of those that may submit; a contract of the carrier stays whole', () => {
  const ordered = (...all: string[]) => ({ submitters: all.map((each) => ({ ordered: each })) }) as never;
  const each = carrierWith({ port: 1 }, { tps: 100, tpsScope: 'bind' });
  expect(contractNow({ carrier: each, binds: ordered('running', 'running') })).toBe(200);
  expect(contractNow({ carrier: each, binds: ordered('running', 'drained') })).toBe(100);
  expect(contractNow({ carrier: each, binds: ordered('paused', 'drained') })).toBe(100);
  const whole = carrierWith({ port: 1 }, { tps: 100 });
  expect(contractNow({ carrier: whole, binds: ordered('running', 'paused') })).toBe(100);
});
