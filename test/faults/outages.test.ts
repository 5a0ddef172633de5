// Parts of the whole system that hang, are down or send garbage while traffic runs (faults 9, 13, 26, 35, 38): the rest
// continues or answers 503 in time, and afterwards nothing is missing and nothing is there twice.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBus } from '../../cluster/bus/connect.ts';
import { messageSubject } from '../../cluster/bus/subjects.ts';
import { readConnections } from '../../cluster/supervisor/data-folder.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { parseFault } from '../../smpp/simulator/faults.ts';
import { recordsOf } from '../support/bus.ts';
import { stopWithChildren, suspend } from '../support/processes.ts';
import { recordedMessages } from '../support/recorded-messages.ts';
import { expectRecorded, assertClean, settledReconciliation } from '../support/reconciliation.ts';
import { type Reply } from '../support/sms-client.ts';
import { type Promised, sendTraffic } from '../support/traffic.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';

/** Submits that may wait for an answer on one bind: the most that its end can leave unknown. */
const windowOfOneBind = 10;
let harness: SystemHarness;
const all: Promised[] = [];

beforeAll(async () => {
  harness = await openSystemHarness({
    responseMs: 'uniform:2,20',
    receiptMs: 'uniform:50,500',
    window: windowOfOneBind,
  });
});
afterAll(() => harness?.stop());

async function send(ratePerSecond: number, seconds: number, seed: number): Promise<Promised[]> {
  const promised = await sendTraffic(harness.client, { ratePerSecond, seconds, seed });
  all.push(...promised);
  return promised;
}

async function expectAllDelivered(promised: readonly Promised[]): Promise<void> {
  const reconciliation = await settledReconciliation(harness, promised);
  expect(reconciliation).toEqual({ ...assertClean, statuses: { delivered: promised.length } });
}

/** When each role noticed that its connection to NATS was lost, in milliseconds since a moment. */
function lostConnections(sinceMs: number): Map<string, number> {
  const lines = harness.system.stderr().split('\n').slice(0, -1);
  const lost = lines.filter((line) => line.includes('NATS connection lost')).map((line) => JSON.parse(line));
  const since = lost.map(({ role, time }): [string, number] => [role, Date.parse(time) - sinceMs]);
  return new Map(since.filter(([, afterMs]) => afterMs > 0));
}

const pidsOf = async () =>
  Promise.all(['actors', 'ingress', 'analytics', 'control'].map((name) => harness.system.pidOf(name)));
const account = () => harness.client.call('GET', '/v1/account');

describe('garbage from a carrier on one bind', () => {
  it.each([
    { fault: 'garbage', sessionsLost: 1 },
    { fault: 'bad-length:0', sessionsLost: 1 },
    { fault: 'bad-length:1000000000', sessionsLost: 1 },
    { fault: 'unbind', sessionsLost: 1 },
    { fault: 'generic-nack', sessionsLost: 0 },
    { fault: 'unknown-command', sessionsLost: 0 },
  ])('$fault ends $sessionsLost sessions: siblings, other carriers and the process go on', async (played) => {
    const pids = await pidsOf();
    const { alpha, beta, gamma } = harness.smscPeers.carriers;
    const binds = () => [alpha, beta, gamma].map((simulator) => simulator.stats().binds.total);
    await until('both binds', () => alpha.stats().binds.now === 2);
    const before = binds();
    const traffic = send(100, 2, 26);
    await systemClock.sleep(500);
    const { name, args } = parseFault(played.fault)!;
    alpha.setFault(name, { ...args, limit: 1 });
    const promised = await traffic;
    const reconciliation = await settledReconciliation(harness, promised);
    expect(reconciliation).toMatchObject(assertClean);
    // Submits outstanding when the session ended were not accepted, which is not known: they are not sent again by
    // themselves. They are the one answered with garbage and those written before the garbage was read.
    const untaken = promised.filter((each) => harness.smscPeers.countOf(each.nonce) === 0);
    expect(untaken.filter((each) => each.carrier !== 'alpha')).toEqual([]);
    expect(untaken.length).toBeLessThanOrEqual(windowOfOneBind);
    expect(reconciliation.statuses['delivered']).toBe(promised.length - untaken.length);
    await until('both binds', () => alpha.stats().binds.now === 2);
    const [first, ...others] = binds();
    expect(first! - before[0]!).toBe(played.sessionsLost);
    expect(others).toEqual(before.slice(1));
    expect(await pidsOf()).toEqual(pids);
  });
});

describe('a NATS server that hangs for twelve seconds', () => {
  it('is noticed: 503 instead of hanging, and everything continues afterwards', async () => {
    const server = await harness.system.pidOf('nats-server');
    const traffic = send(40, 16, 9);
    await systemClock.sleep(2_000);
    await suspend(server);
    const stoppedAtMs = systemClock.monotonicMs();
    const stoppedAt = systemClock.nowMs();
    let plain: Reply;
    try {
      // Without a key there is no record to claim: the publish alone must give up in time.
      plain = await harness.client.post({ to: '+8801700000001', message: 'while NATS hangs' });
      const leftMs = 12_000 - (systemClock.monotonicMs() - stoppedAtMs);
      await systemClock.sleep(Math.max(0, leftMs));
    } finally {
      process.kill(server, 'SIGCONT');
    }
    expect(plain.status).toBe(503);
    expect(plain.headers['retry-after']).toBeDefined();
    const lost = lostConnections(stoppedAt);
    expect([...lost.keys()]).toEqual(expect.arrayContaining(['ingress', 'actors', 'analytics']));
    // Promised are ten seconds, and the third missing pong is at nine; a shared machine gets more.
    expect(Math.max(...lost.values())).toBeLessThan(12_000);
    const promised = await traffic;
    expect(promised).toHaveLength(640);
    expect(promised.filter((each) => each.refusals > 0).length).toBeGreaterThan(0);
    expect(Math.max(...promised.map((each) => each.slowestReplyMs))).toBeLessThan(10_000);
    await expectAllDelivered(promised);
    expect(await harness.system.pidOf('nats-server')).toBe(server);
  });
});

describe('an unreadable record', () => {
  it('goes to DEAD with the reason, and its queue continues', async () => {
    const bus = await connectBus(readConnections(harness.system.dataDir)!.natsUrl, 'test');
    const poison = new TextEncoder().encode('no record of ours');
    await bus.jetstream.publish(messageSubject('transactional', 'alpha', harness.system.keys.accountId), poison);
    const promised = await send(50, 1, 13);
    const [dead] = await until('the record in DEAD', async () => {
      const found = await recordsOf(bus, 'DEAD');
      return found.length > 0 && found;
    });
    expect(dead?.subject).toBe('dead.MT_TXN');
    expect(Buffer.from(dead!.data)).toEqual(Buffer.from(poison));
    expect(dead?.header('Heliograph-Reason')).not.toBe('');
    expect(dead?.header('Heliograph-Subject')).toContain('mt.txn.alpha.');
    // Counted when it is durable there, and a busy thread is left out of /metrics.
    expect(await until('it is counted', () => harness.system.metric('heliograph_dead_records_total'))).toBe(1);
    await bus.close();
    await expectAllDelivered(promised);
    expect(harness.system.stderr()).toContain('"alarm":"dead_record"');
  });
});

describe('an event store that hangs for ten seconds and dies', () => {
  it('stops no message; queries are answered 503 in time, and the counts are exact afterwards', {
    timeout: 180_000,
  }, async () => {
    const store = await harness.system.pidOf('analytics');
    await suspend(store);
    const before = harness.smscPeers.taken();
    const traffic = send(100, 8, 35);
    const question = await harness.client.call('GET', '/v1/sms?limit=1');
    expect(question.status).toBe(503);
    expect(question.json).toMatchObject({ code: 'status_unavailable' });
    expect(question.tookMs).toBeLessThan(6_000);
    const promised = await traffic;
    await until('every message at its carrier', () => harness.smscPeers.taken() - before === promised.length);
    expect(promised.every((each) => each.refusals === 0)).toBe(true);
    await systemClock.sleep(2_000);
    await harness.system.kill9('analytics');
    await expectAllDelivered(promised);
  });
});

describe('a database that hangs', () => {
  it('stops no message; management answers 503 in time and recovers', async () => {
    expect((await account()).status).toBe(200);
    const processes = await stopWithChildren(await harness.system.pidOf('postgres'));
    const traffic = send(100, 5, 38);
    const asked = await account();
    expect(asked.status).toBe(503);
    const promised = await traffic;
    await expectAllDelivered(promised);
    for (const pid of processes) process.kill(pid, 'SIGCONT');
    await until('management answers', async () => (await account()).status === 200);
    await harness.system.kill9('postgres');
    await until('management answers again', async () => (await account()).status === 200);
  });
});

describe('after all these faults', () => {
  it('every count agrees: carriers, API and ClickHouse', async () => {
    const whole = await settledReconciliation(harness, all);
    await harness.system.recorded();
    expect(await harness.system.stop()).toBe(0);
    const { actual, expected } = expectRecorded(await recordedMessages(harness.system.dataDir), all, whole);
    expect(actual).toEqual(expected);
  });
});
