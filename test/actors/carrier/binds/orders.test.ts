// Pause, drain and resume, counted at the far end: carriers served by a real process with real threads, which is also
// killed. While a carrier is paused nothing is submitted and receipts come in; afterwards nothing is lost, nothing twice.
import { afterEach, describe, expect, it } from 'vitest';
import { type Given, orderCarrier, viewCarriers } from '../../../../cluster/operator-commands/carriers.ts';
import { askForCarriers } from '../../../../cluster/operator-commands/reports.ts';
import type { OrderVerb } from '../../../../cluster/operator-commands/contract.ts';
import type { CarrierConfig } from '../../../../config/configuration.ts';
import { newAccountId } from '../../../../model/ids.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../../platform/deadline.ts';
import { parseLatency } from '../../../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../../../smpp/simulator/simulator.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../../../support/carrier-house.ts';
import { type HostChild, nodeNamed } from '../../../support/host-process.ts';
import { eventsOf } from '../../../support/invariant.ts';
import { freePort } from '../../../../cluster/embedded/ports.ts';

let house: CarrierHouse;
let host: HostChild | undefined;
const others: Simulator[] = [];
afterEach(async () => {
  await house?.stop();
  await Promise.all(others.splice(0).map((each) => each.close()));
});

async function order(verb: OrderVerb, carrier = 'alpha', bind: number | null = null): Promise<Given> {
  const given = await orderCarrier(house.bus, [], {
    verb,
    carrier,
    bind,
    reason: 'test',
    actor: 'operator',
    from: 'test',
  });
  if (!given.ok) throw new Error(`no such ${given.what}: ${given.there.join()}`);
  expect(given.inForce).toBe(true);
  return given;
}

/** What a killed process held comes back after the streams' ack_wait of ten seconds, and the machine may be busy. */
const settledMs = 40_000;
const patience = { timeout: 90_000 };
const waiting = { limitMs: 20_000 };

const total = () => house.simulator.stats().submits.total;
/** On a busy machine who serves it may answer too late to be heard: then it is asked again. */
const viewOf = (name = 'alpha') =>
  until(`${name} is seen`, async () => (await viewCarriers(house.bus, [])).find((each) => each.name === name), waiting);

/** At 200 a second, with receipts that take a while: a pause comes into the middle of everything. */
async function inTheMiddle(changes: Parameters<typeof carrierWith>[1] = {}) {
  house = await openCarrierHouse({ latency: 'fixed:400', response: 'fixed:30' });
  const alpha = carrierWith(house.simulator, { tps: 200, ...changes });
  host = await house.host([alpha]);
  // Of many accounts, as traffic is.
  const accounts = Array.from({ length: 10 }, () => newAccountId(systemClock.nowMs()));
  const sent = (await Promise.all(accounts.map((accountId) => house.send(30, { accountId })))).flat();
  await until('submits flow', () => total() > 50, waiting);
  return { alpha, sent };
}

const spent = () =>
  until('all receipts are there', () => {
    const { submits, receipts } = house.simulator.stats();
    return receipts.acked === submits.accepted;
  });

describe('a paused carrier', () => {
  it('submits nothing more, keeps its sessions, takes its receipts, and goes on where it was', patience, async () => {
    const { sent } = await inTheMiddle();
    expect((await order('pause')).carrier).toMatchObject({ ordered: 'paused', state: 'down', why: 'paused' });
    const before = total();
    expect(before).toBeLessThan(sent.length);
    sent.push(...(await house.send(20, { category: 'otp' })));
    await spent();
    await until('they are held', async () => (await viewOf()).held > 20, waiting);
    expect(total()).toBe(before);
    expect(house.simulator.stats().binds).toMatchObject({ now: 2, total: 2 });
    expect((await viewOf()).binds.map(({ state }) => state)).toEqual(['bound', 'bound']);

    expect((await order('resume')).carrier.ordered).toBe('running');
    expect(await house.settled(sent, settledMs)).toMatchObject({ statuses: { delivered: 320 }, twice: [], never: [] });
  });

  it('stays paused when its process is killed and another one takes over', patience, async () => {
    const { alpha, sent } = await inTheMiddle();
    await order('pause');
    await spent();
    const before = total();
    // What was chosen and not written is told as such: nothing of it may become unknown.
    await until('nothing is about to go out', async () => openIntents(await eventsOf(house.bus)) === 0, waiting);
    await host!.kill9();
    host = await house.host([alpha]);
    await until('it is bound again', () => house.simulator.stats().binds.now === 2, waiting);
    await until('it holds what waits', async () => (await viewOf()).held > 0, waiting);
    expect(await viewOf()).toMatchObject({ ordered: 'paused', why: 'paused' });
    expect(total()).toBe(before);
    await order('resume');
    expect(await house.settled(sent, settledMs)).toMatchObject({ statuses: { delivered: 300 }, twice: [], never: [] });
  });

  it('loses to another one of the plan what may go there', patience, async () => {
    house = await openCarrierHouse();
    const beta = await startSimulator({
      magic: false,
      latency: parseLatency('fixed:20')!,
      response: parseLatency('fixed:0')!,
    });
    others.push(beta);
    const carriers: CarrierConfig[] = [carrierWith(house.simulator), carrierWith(beta, { name: 'beta' })];
    host = await house.host(carriers, { threads: 2 });
    await until('both are served', async () => (await viewCarriers(house.bus, [])).length === 2, waiting);
    await order('pause');
    await house.send(20, { category: 'otp', plan: ['beta'] });
    await house.send(20, { category: 'promotional', plan: ['beta'] });
    const stays = await house.send(5);
    await until('they went the other way', () => beta.stats().submits.total === 40, waiting);
    const moved = (await eventsOf(house.bus)).filter(({ kind }) => kind === 'rerouted');
    expect(new Set(moved.map(({ error }) => error))).toEqual(new Set(['to beta: paused']));
    expect(total()).toBe(0);
    await order('resume');
    expect(await house.settled(stays, settledMs)).toMatchObject({ statuses: { delivered: 5 }, twice: [], never: [] });
  });
});

describe('a drained carrier', () => {
  it(
    'lets what is out be answered, unbinds, and stays so through a restart until it is resumed',
    patience,
    async () => {
      const { alpha, sent } = await inTheMiddle();
      await order('drain');
      await until('it is unbound', () => house.simulator.stats().binds.now === 0, waiting);
      const before = total();
      expect((await viewOf()).binds.map(({ state }) => state)).toEqual(['resting', 'resting']);
      expect(house.simulator.stats().submits.unanswered).toBe(0);
      await host!.drain(5_000);
      host = await house.host([alpha]);
      await until('it is served again', async () => (await viewOf()).why === 'drained', waiting);
      await until('it holds what waits', async () => (await viewOf()).held > 0, waiting);
      expect(house.simulator.stats()).toMatchObject({ binds: { now: 0, total: 2 }, submits: { total: before } });

      await order('resume');
      expect(await house.settled(sent, settledMs)).toMatchObject({
        statuses: { delivered: 300 },
        twice: [],
        never: [],
      });
      expect(house.simulator.stats().binds).toMatchObject({ now: 2, total: 4 });
    },
  );

  it('becomes a paused one when that is ordered: bound, and nothing goes out', patience, async () => {
    house = await openCarrierHouse();
    host = await house.host([carrierWith(house.simulator)]);
    await until('it is bound', () => house.simulator.stats().binds.now === 2, waiting);
    await order('drain');
    await until('it is unbound', () => house.simulator.stats().binds.now === 0, waiting);
    await order('pause');
    await until('it is bound again', () => house.simulator.stats().binds.now === 2, waiting);
    const sent = await house.send(10);
    await until('they are held', async () => (await viewOf()).held === 10, waiting);
    expect(total()).toBe(0);
    await order('resume');
    expect(await house.settled(sent, settledMs)).toMatchObject({ twice: [], never: [] });
  });
});

describe('one bind', () => {
  it('is drained or paused while the other goes on, and everything goes out', patience, async () => {
    const { sent } = await inTheMiddle();
    await order('drain', 'alpha', 2);
    await until('it is unbound', () => house.simulator.stats().binds.now === 1, waiting);
    const view = await viewOf();
    expect(view).toMatchObject({
      ordered: 'running',
      state: 'good',
      binds: [
        { ordered: 'running', state: 'bound' },
        { ordered: 'drained', state: 'resting' },
      ],
    });
    expect(await house.settled(sent, settledMs)).toMatchObject({ statuses: { delivered: 300 }, twice: [], never: [] });
    await order('resume', 'alpha', 2);
    await until('it is back', () => house.simulator.stats().binds.now === 2, waiting);
  });

  it('and the other one too: then the carrier is as good as paused', patience, async () => {
    house = await openCarrierHouse();
    host = await house.host([carrierWith(house.simulator)]);
    await until('it is served', async () => (await viewOf()).state === 'good', waiting);
    await order('pause', 'alpha', 1);
    expect((await order('drain', 'alpha', 2)).carrier).toMatchObject({
      ordered: 'running',
      state: 'down',
      why: 'paused',
    });
    const sent = await house.send(10);
    await until('they are held', async () => (await viewOf()).held === 10, waiting);
    expect(total()).toBe(0);
    await order('resume', 'alpha', 1);
    expect(await house.settled(sent, settledMs)).toMatchObject({ twice: [], never: [] });
  });

  it('that was given up for a wrong password is tried again when it is resumed', patience, async () => {
    house = await openCarrierHouse();
    const port = await freePort();
    const wrong = await startSimulator({ port, accounts: [{ systemId: 'heliograph', password: 'other', tps: 0 }] });
    const alpha = carrierWith(wrong, { bind: { count: 1 } });
    host = await house.host([alpha]);
    await until('it is given up', async () => (await viewOf()).binds[0]?.state === 'stopped', waiting);
    expect((await viewOf()).binds[0]?.reason).toContain('ESME_RINVPASWD');
    await wrong.close();
    const mended = await startSimulator({ port });
    others.push(mended);
    await order('resume');
    await until('it is bound', () => mended.stats().binds.now === 1, waiting);
  });
});

describe('a carrier of two nodes', () => {
  it('is paused on both; a bind that is paused leaves its work to the other node', patience, async () => {
    house = await openCarrierHouse({ latency: 'fixed:50' });
    const alpha = carrierWith(house.simulator, { tps: 200 });
    for (const name of ['one', 'two']) await house.host([alpha], { shared: nodeNamed(name) });
    const states = async () =>
      (await askForCarriers(house.bus)).map(({ binds }) =>
        binds
          .map(({ state }) => state)
          .sort()
          .join(),
      );
    const eachHasOne = 'bound,elsewhere bound,elsewhere';
    await until('each has one', async () => (await states()).join(' ') === eachHasOne, waiting);
    // Who answers long after the other is not in the view.
    const view = await until(
      'both are seen',
      async () => {
        const seen = await viewOf();
        return seen.servedBy === 2 && seen;
      },
      waiting,
    );
    expect(view.binds).toMatchObject([{ state: 'bound' }, { state: 'bound' }]);

    await order('pause');
    const sent = await house.send(40);
    await until('they are held', async () => (await viewOf()).held > 0, waiting);
    expect((await viewOf()).state).toBe('down');
    expect(total()).toBe(0);
    await order('resume');
    expect(await house.settled(sent, settledMs)).toMatchObject({ statuses: { delivered: 40 }, twice: [], never: [] });

    await order('pause', 'alpha', 1);
    const more = await house.send(40);
    expect(await house.settled(more, settledMs)).toMatchObject({ statuses: { delivered: 40 }, twice: [], never: [] });
    await until('both are seen to be good', async () => (await viewOf()).state === 'good', waiting);
    expect((await viewOf()).ordered).toBe('running');
  });
});

/** Intents without anything behind them. */
function openIntents(events: Awaited<ReturnType<typeof eventsOf>>): number {
  const last = new Map(events.map((event) => [event.messageId, event.kind]));
  return [...last.values()].filter((kind) => kind === 'intent').length;
}
