// Pause, drain and resume, counted at the SMSC peer: carriers served by a real process with real threads, which is also
// killed. While a carrier is paused nothing is submitted and receipts arrive; afterwards nothing is lost and nothing
// sent twice.
import { afterEach, describe, expect, it } from 'vitest';
import { type Given, commandCarrier, viewCarriers } from '../../../../cluster/operator-commands/carriers.ts';
import { askForCarriers } from '../../../../cluster/operator-commands/reports.ts';
import type { CommandVerb } from '../../../../cluster/operator-commands/contract.ts';
import type { CarrierConfig } from '../../../../config/configuration.ts';
import { newAccountId } from '../../../../model/ids.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { parseLatency } from '../../../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../../../smpp/simulator/simulator.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { type HostChild, nodeNamed } from '../../../support/host-process.ts';
import { eventsOf } from '../../../support/invariant.ts';
import { freePort } from '../../../../cluster/embedded/ports.ts';

let harness: CarrierHarness;
let host: HostChild | undefined;
const others: Simulator[] = [];
afterEach(async () => {
  await harness?.stop();
  await Promise.all(others.splice(0).map((each) => each.close()));
});

/** On `nodes` nodes. While no thread answers in time no command is given: then it is tried again. */
async function command(verb: CommandVerb, carrier = 'alpha', bind: number | null = null, nodes = 1): Promise<Given> {
  const order = { verb, carrier, bind, reason: 'test', actor: 'operator', from: 'test' } as const;
  const given = await until('the carrier is seen', async () => {
    const answer = await commandCarrier(harness.bus, [], order);
    return answer.ok && answer;
  });
  await until('the command is in effect', async () => {
    const reports = (await askForCarriers(harness.bus)).filter((report) => report.carrier === carrier);
    return reports.length >= nodes && reports.every(({ commands }) => commands.includes(given.command.id));
  });
  return { ...given, carrier: await viewOf(carrier) };
}

const total = () => harness.simulator.stats().submits.total;
/** On a busy machine an answer may come too late: then the query is repeated. */
const viewOf = (name = 'alpha') =>
  until(`${name} is seen`, async () => (await viewCarriers(harness.bus, [])).find((each) => each.name === name));

/** At 200 a second, with slow receipts: a pause comes into the middle of everything. */
async function inTheMiddle(changes: Parameters<typeof carrierWith>[1] = {}) {
  harness = await openCarrierHarness({ latency: 'fixed:400', response: 'fixed:30' });
  const alpha = carrierWith(harness.simulator, { tps: 200, ...changes });
  host = await harness.host([alpha]);
  // Of many accounts, as in production.
  const accounts = Array.from({ length: 10 }, () => newAccountId(systemClock.nowMs()));
  const sent = (await Promise.all(accounts.map((accountId) => harness.send(30, { accountId })))).flat();
  await until('submits flow', () => total() > 50);
  return { alpha, sent };
}

const spent = () =>
  until('all receipts are there', () => {
    const { submits, receipts } = harness.simulator.stats();
    return receipts.acked === submits.accepted;
  });

describe('a paused carrier', () => {
  it('submits nothing more, keeps its sessions, accepts its receipts, and continues where it was', async () => {
    const { sent } = await inTheMiddle();
    expect((await command('pause')).carrier).toMatchObject({ desiredState: 'paused', state: 'down', why: 'paused' });
    const before = total();
    expect(before).toBeLessThan(sent.length);
    sent.push(...(await harness.send(20, { category: 'otp' })));
    await spent();
    await until('they are held', async () => (await viewOf()).inFlight > 20);
    expect(total()).toBe(before);
    expect(harness.simulator.stats().binds).toMatchObject({ now: 2, total: 2 });
    expect((await viewOf()).binds.map(({ state }) => state)).toEqual(['bound', 'bound']);

    expect((await command('resume')).carrier.desiredState).toBe('running');
    expect(await harness.settled(sent)).toMatchObject({
      statuses: { delivered: 320 },
      twice: [],
      never: [],
    });
  });

  it('stays paused when its process is killed and another one takes over', async () => {
    const { alpha, sent } = await inTheMiddle();
    await command('pause');
    await spent();
    const before = total();
    // What was chosen and not written is published as such: nothing of it may become unknown.
    await until('nothing is about to go out', async () => openIntents(await eventsOf(harness.bus)) === 0);
    await host!.kill9();
    // A record that may be the second of its message is looked up, when the next process starts late.
    await harness.eventStore();
    host = await harness.host([alpha]);
    await until('it is bound again', () => harness.simulator.stats().binds.now === 2);
    await until('it holds what waits', async () => (await viewOf()).inFlight > 0);
    expect(await viewOf()).toMatchObject({ desiredState: 'paused', why: 'paused' });
    expect(total()).toBe(before);
    await command('resume');
    expect(await harness.settled(sent)).toMatchObject({
      statuses: { delivered: 300 },
      twice: [],
      never: [],
    });
  });

  it('loses messages to another carrier of their plan', async () => {
    harness = await openCarrierHarness();
    const beta = await startSimulator({
      magic: false,
      latency: parseLatency('fixed:20')!,
      response: parseLatency('fixed:0')!,
    });
    others.push(beta);
    const carriers: CarrierConfig[] = [carrierWith(harness.simulator), carrierWith(beta, { name: 'beta' })];
    host = await harness.host(carriers, { threads: 2 });
    await until('both are served', async () => (await viewCarriers(harness.bus, [])).length === 2);
    await command('pause');
    await harness.send(20, { category: 'otp', plan: ['beta'] });
    await harness.send(20, { category: 'promotional', plan: ['beta'] });
    const stays = await harness.send(5);
    await until('they went the other way', () => beta.stats().submits.total === 40);
    const moved = (await eventsOf(harness.bus)).filter(({ kind }) => kind === 'rerouted');
    expect(new Set(moved.map(({ error }) => error))).toEqual(new Set(['to beta: paused']));
    expect(total()).toBe(0);
    await command('resume');
    expect(await harness.settled(stays)).toMatchObject({ statuses: { delivered: 5 }, twice: [], never: [] });
  });
});

describe('a drained carrier', () => {
  it('lets what is out be answered, unbinds, and stays so through a restart until it is resumed', async () => {
    const { alpha, sent } = await inTheMiddle();
    await command('drain');
    await until('it is unbound', () => harness.simulator.stats().binds.now === 0);
    const before = total();
    expect((await viewOf()).binds.map(({ state }) => state)).toEqual(['resting', 'resting']);
    expect(harness.simulator.stats().submits.unanswered).toBe(0);
    await host!.drain(5_000);
    host = await harness.host([alpha]);
    await until('it is served again', async () => (await viewOf()).why === 'drained');
    await until('it holds what waits', async () => (await viewOf()).inFlight > 0);
    expect(harness.simulator.stats()).toMatchObject({ binds: { now: 0, total: 2 }, submits: { total: before } });

    await command('resume');
    expect(await harness.settled(sent)).toMatchObject({
      statuses: { delivered: 300 },
      twice: [],
      never: [],
    });
    expect(harness.simulator.stats().binds).toMatchObject({ now: 2, total: 4 });
  });

  it('becomes a paused one by command: bound, and nothing is submitted', async () => {
    harness = await openCarrierHarness();
    host = await harness.host([carrierWith(harness.simulator)]);
    await until('it is bound', () => harness.simulator.stats().binds.now === 2);
    await command('drain');
    await until('it is unbound', () => harness.simulator.stats().binds.now === 0);
    await command('pause');
    await until('it is bound again', () => harness.simulator.stats().binds.now === 2);
    const sent = await harness.send(10);
    await until('they are held', async () => (await viewOf()).inFlight === 10);
    expect(total()).toBe(0);
    await command('resume');
    expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [] });
  });
});

describe('one bind', () => {
  it('is drained or paused while the other continues, and everything is sent', async () => {
    const { sent } = await inTheMiddle();
    await command('drain', 'alpha', 2);
    await until('it is unbound', () => harness.simulator.stats().binds.now === 1);
    const view = await viewOf();
    expect(view).toMatchObject({
      desiredState: 'running',
      state: 'good',
      binds: [
        { desiredState: 'running', state: 'bound' },
        { desiredState: 'drained', state: 'resting' },
      ],
    });
    expect(await harness.settled(sent)).toMatchObject({
      statuses: { delivered: 300 },
      twice: [],
      never: [],
    });
    await command('resume', 'alpha', 2);
    await until('it is back', () => harness.simulator.stats().binds.now === 2);
  });

  it('and then the other one too: the carrier is effectively paused', async () => {
    harness = await openCarrierHarness();
    host = await harness.host([carrierWith(harness.simulator)]);
    await until('it is served', async () => (await viewOf()).state === 'good');
    await command('pause', 'alpha', 1);
    expect((await command('drain', 'alpha', 2)).carrier).toMatchObject({
      desiredState: 'running',
      state: 'down',
      why: 'paused',
    });
    const sent = await harness.send(10);
    await until('they are held', async () => (await viewOf()).inFlight === 10);
    expect(total()).toBe(0);
    await command('resume', 'alpha', 1);
    expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [] });
  });

  it('that was given up for a wrong password is retried when it is resumed', async () => {
    harness = await openCarrierHarness();
    const port = await freePort();
    const wrong = await startSimulator({ port, accounts: [{ systemId: 'heliograph', password: 'other', tps: 0 }] });
    const alpha = carrierWith(wrong, { bind: { count: 1 } });
    host = await harness.host([alpha]);
    await until('it is given up', async () => (await viewOf()).binds[0]?.state === 'stopped');
    expect((await viewOf()).binds[0]?.reason).toContain('ESME_RINVPASWD');
    await wrong.close();
    const mended = await startSimulator({ port });
    others.push(mended);
    await command('resume');
    await until('it is bound', () => mended.stats().binds.now === 1);
  });
});

describe('a carrier of two nodes', () => {
  it('is paused on both; a bind that is paused leaves its work to the other node', async () => {
    harness = await openCarrierHarness({ latency: 'fixed:50' });
    const alpha = carrierWith(harness.simulator, { tps: 200 });
    for (const name of ['one', 'two']) await harness.host([alpha], { shared: nodeNamed(name) });
    const states = async () =>
      (await askForCarriers(harness.bus)).map(({ binds }) =>
        binds
          .map(({ state }) => state)
          .sort()
          .join(),
      );
    const eachHasOne = 'bound,elsewhere bound,elsewhere';
    await until('each has one', async () => (await states()).join(' ') === eachHasOne);
    // A node that answers long after the other is not in the view.
    const view = await until('both are seen', async () => {
      const seen = await viewOf();
      return seen.servedBy === 2 && seen;
    });
    expect(view.binds).toMatchObject([{ state: 'bound' }, { state: 'bound' }]);

    await command('pause', 'alpha', null, 2);
    const sent = await harness.send(40);
    await until('they are held', async () => (await viewOf()).inFlight > 0);
    expect((await viewOf()).state).toBe('down');
    expect(total()).toBe(0);
    await command('resume', 'alpha', null, 2);
    expect(await harness.settled(sent)).toMatchObject({ statuses: { delivered: 40 }, twice: [], never: [] });

    await command('pause', 'alpha', 1, 2);
    const more = await harness.send(40);
    expect(await harness.settled(more)).toMatchObject({ statuses: { delivered: 40 }, twice: [], never: [] });
    await until('both are seen to be good', async () => (await viewOf()).state === 'good');
    expect((await viewOf()).desiredState).toBe('running');
  });
});

/** Intents without an outcome. */
function openIntents(events: Awaited<ReturnType<typeof eventsOf>>): number {
  const last = new Map(events.map((event) => [event.messageId, event.kind]));
  return [...last.values()].filter((kind) => kind === 'intent').length;
}
