// A faulty bind, or a carrier that accepts no more, while messages flow (faults 18, 19, 20, 23, 27, 28): the cost is
// bounded, the other binds continue, and every message is at the SMSC peer once. Real sockets, counted at the
// simulators.
import net from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { CarrierConfig } from '../../../../config/configuration.ts';
import { isTerminal } from '../../../../model/status.ts';
import { type Clock, systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { limits } from '../../../../platform/limits.ts';
import { bindFields } from '../../../smpp/bind-fields.ts';
import { openSession } from '../../../../smpp/session.ts';
import { parseLatency } from '../../../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../../../smpp/simulator/simulator.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { type SentMessage, eventsOf, statesOf } from '../../../support/invariant.ts';

let harness: CarrierHarness;
const ends: (() => unknown)[] = [];
afterEach(async () => {
  await harness.stop();
  for (const end of ends.splice(0)) await end();
});

async function secondSimulator(): Promise<Simulator> {
  const simulator = await startSimulator({
    magic: false,
    latency: parseLatency('fixed:20')!,
    response: parseLatency('fixed:0')!,
  });
  ends.push(() => simulator.close());
  return simulator;
}

/** One carrier with a bind at each of these ports. */
function carrierAt(ports: readonly number[], changes: Partial<CarrierConfig> = {}): CarrierConfig {
  const carrier = carrierWith({ port: 0 }, changes);
  const [bind] = carrier.binds;
  return { ...carrier, binds: ports.map((port) => ({ ...bind!, port, count: 1, window: 10 })) };
}

async function allTerminal(sent: readonly SentMessage[]): Promise<Record<string, number>> {
  return until(
    'every message terminal',
    async () => {
      const states = await statesOf(harness.bus);
      const all = sent.map(({ messageId }) => states.get(messageId)?.status ?? 'accepted');
      if (!all.every(isTerminal)) return false;
      return Object.fromEntries([...new Set(all)].map((one) => [one, all.filter((each) => each === one).length]));
    },
    { everyMs: 150 },
  );
}

const copies = (sent: readonly SentMessage[], ...simulators: Simulator[]) =>
  sent.map(({ nonce }) => simulators.reduce((sum, each) => sum + each.nonceCount(nonce), 0));

/** Timers of a minute and more end soon; the requested times are recorded. */
function hurried(): { clock: Clock; long: number[] } {
  const long: number[] = [];
  const after: Clock['after'] = (delayMs, run) => {
    if (delayMs < limits.smpp.ghostSessionMs) return systemClock.after(delayMs, run);
    long.push(delayMs);
    return systemClock.after(400, run);
  };
  return { clock: { ...systemClock, after }, long };
}

test('no submit_sm_resp: window slots are free again at the response timer, silent binds are reopened, each message arrives once', async () => {
  harness = await openCarrierHarness({ latency: 'fixed:50' });
  // A late receipt settles an unknown submit only when the event store knows of no other message it may be of.
  await harness.eventStore();
  harness.simulator.setFault('no-resp', { limit: 10 });
  await harness.actor(carrierWith(harness.simulator, { responseTimerMs: 300, bind: { window: 5, count: 2 } }));
  const sent = await harness.send(60);
  await until('the rest is answered', () => harness.simulator.stats().submits.accepted >= 60);
  expect(harness.simulator.stats().submits.unanswered).toBe(10);
  // Three silences in a row on one session: it was reopened.
  expect(harness.simulator.stats().binds.total).toBeGreaterThan(2);
  await until('late receipts settle what was unknown', async () => (await allTerminal(sent))['delivered'] === 60);
  expect(new Set(copies(sent, harness.simulator))).toEqual(new Set([1]));
  const unknown = (await eventsOf(harness.bus)).filter((each) => each.kind === 'unknown');
  // And what else was in the window of a bind when it was reopened.
  expect(unknown.length).toBeGreaterThanOrEqual(10);
  expect(unknown.length).toBeLessThanOrEqual(10 + 5 * harness.simulator.stats().binds.total);
});

test('enquire_link unanswered: the bind is closed within two intervals, and traffic continues over the other', async () => {
  harness = await openCarrierHarness();
  const healthy = await secondSimulator();
  const enquireLinkMs = 400;
  await harness.actor(carrierAt([harness.simulator.port, healthy.port], { enquireLinkMs, tps: 400 }));
  await until('both binds', () => harness.simulator.stats().binds.now + healthy.stats().binds.now === 2);
  const first = await harness.send(50);
  await until('both take messages', () => harness.simulator.stats().submits.total > 0);
  harness.simulator.setFault('no-enquire-resp');
  const asked = harness.simulator.stats().enquireLinks;
  const second = await harness.send(400);
  await until('the deaf bind is closed', () => harness.simulator.stats().binds.now === 0, { everyMs: 5 });
  // One more enquire_link than answers: at the second interval it ends.
  expect(harness.simulator.stats().enquireLinks - asked).toBeLessThanOrEqual(2);
  const third = await harness.send(50);
  const sent = [...first, ...second, ...third];
  const { delivered = 0, unknown = 0 } = await allTerminal(sent);
  expect(delivered + unknown).toBe(500);
  // At most what was in its window when it was closed, each time.
  expect(unknown).toBeLessThanOrEqual(10 * harness.simulator.stats().binds.total);
  expect(Math.max(...copies(sent, harness.simulator, healthy))).toBe(1);
  expect(healthy.stats().submits.total).toBeGreaterThan(0);
});

test('TCP accepted, bind never answered: given up at the bind timer, retried after a backoff, the other bind delivers all', async () => {
  harness = await openCarrierHarness();
  /** Of each connection: how many tries had been given up before it. */
  const givenUpBefore: number[] = [];
  let givenUp = 0;
  const sockets = new Set<net.Socket>();
  const mute = net.createServer((socket) => {
    givenUpBefore.push(givenUp);
    sockets.add(socket.on('error', () => {}));
  });
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    mute.close();
  });
  const after: Clock['after'] = (delayMs, run) => {
    if (delayMs !== limits.smpp.bindTimerMs) return systemClock.after(delayMs, run);
    return systemClock.after(300, () => {
      givenUp += 1;
      run();
    });
  };
  const { port } = mute.address() as net.AddressInfo;
  const { actor } = await harness.actor(carrierAt([port, harness.simulator.port]), { ...systemClock, after });
  const sent = await harness.send(300);
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 300 } });
  await until('it was tried four times', () => givenUpBefore.length >= 4);
  expect(actor.status.bindsBound).toBe(1);
  // Never before the timer of the previous try has run out; a connection may be noticed later than it was made.
  for (const [at, before] of givenUpBefore.entries()) expect(before).toBeGreaterThanOrEqual(at);
});

test('a ghost of our own session is still bound: one try, a wait past the inactivity timer, and the other bind continues', async () => {
  harness = await openCarrierHarness({
    bindsMax: 1,
    accounts: ['one', 'two'].map((systemId) => ({ systemId, password: 'sandbox', tps: 0 })),
  });
  const ghost = openSession<string>(
    {
      host: '127.0.0.1',
      port: harness.simulator.port,
      bind: { type: 'transceiver', ...bindFields('one', 'sandbox') },
      windowPdusMax: 1,
      responseTimerMs: 5_000,
      enquireLinkMs: 5_000,
      clock: systemClock,
    },
    {
      onBound: () => {},
      onSubmitResponse: () => {},
      onSubmitTimeout: () => {},
      onDeliver: (_pdu, respond) => respond(0),
      onWindowOpen: () => {},
      onClosed: () => {},
    },
  );
  ends.push(() => ghost.close('the test is over', 0));
  await until('the ghost', () => harness.simulator.stats().binds.now === 1);
  const carrier = carrierAt([harness.simulator.port, harness.simulator.port]);
  const binds = carrier.binds.map((bind, at) => ({ ...bind, systemId: at === 0 ? 'one' : 'two' }));
  const { clock, long } = hurried();
  const { actor } = await harness.actor({ ...carrier, binds }, clock);
  const sent = await harness.send(200);
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 200 } });
  await until('it was refused', () => harness.simulator.stats().binds.refused >= 1);
  expect(actor.report.binds.map(({ reason }) => reason).join()).toContain('ESME_RALYBND');
  await ghost.close('the carrier has noticed', 0);
  await until('both binds', () => actor.status.bindsBound === 2);
  // Each refusal was one connection, and each was followed by the long wait.
  expect(long.length).toBe(harness.simulator.stats().binds.refused);
  expect(Math.min(...long)).toBeGreaterThanOrEqual(limits.smpp.ghostSessionMs);
});

test('a carrier that stops reading: outstanding and in-flight messages are bounded, the rest waits in its stream, and all are sent when it reads again', async () => {
  harness = await openCarrierHarness();
  const { actor } = await harness.actor(
    carrierWith(harness.simulator, {
      enquireLinkMs: 120_000,
      responseTimerMs: 120_000,
      tps: 20_000,
      bind: { window: 1_000, count: 1 },
    }),
  );
  await until('the bind', () => actor.status.bindsBound === 1);
  harness.simulator.setFault('stall');
  const text = (nonce: string) => `#${nonce}# ${'x'.repeat(140)}`;
  const sent = await harness.send(5_000, {}, text);
  const waiting = async () => (await harness.bus.manager.streams.info('MT_TXN')).state.messages;
  let seen = { inFlight: 0, taken: 0, stream: 0 };
  await until(
    'nothing moves any more',
    async () => {
      const now = {
        inFlight: actor.status.inFlight,
        taken: harness.simulator.stats().submits.total,
        stream: await waiting(),
      };
      const still = now.inFlight === seen.inFlight && now.taken === seen.taken && now.stream === seen.stream;
      seen = now;
      return still && now.inFlight > 0;
    },
    { everyMs: 700 },
  );
  // The bound of its shard, and what an account with an excess there may have moved to overflow.
  expect(seen.inFlight).toBeLessThanOrEqual(limits.carrier.shardHeldMax + limits.overflow.heldMax);
  const left = 5_000 - harness.simulator.stats().submits.accepted;
  expect(seen.stream).toBeGreaterThanOrEqual(left);
  // A record being moved to overflow and its copy are both there for a moment.
  await until('each is there once', async () => (await waiting()) === left);
  expect(seen.taken).toBeLessThan(1_000);
  harness.simulator.setFault(null);
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 5_000 } });
});

test('part 2 of 3 rejected: the third is never sent, and the message has one failed status', async () => {
  harness = await openCarrierHarness();
  harness.simulator.setFault('reject-part', { arg: 2 });
  await harness.actor(carrierWith(harness.simulator, { bind: { window: 1, count: 1 } }));
  const sent = await harness.send(5, { segments: 3 }, (nonce) => `#${nonce}# ${'long '.repeat(80)}`);
  expect((await harness.settled(sent)).statuses).toEqual({ rejected: 5 });
  const { submits } = harness.simulator.stats();
  expect([submits.total, submits.accepted]).toEqual([10, 5]);
  const rejected = (await eventsOf(harness.bus)).filter((each) => each.kind === 'rejected');
  expect(rejected.map((each) => each.segment)).toEqual([2, 2, 2, 2, 2]);
});
