// kill -9 of each process of the whole system under load, at moments chosen by a seed (faults 1–6, 10, 35, 37, 38).
// Clients repeat with the same key until their 202. Every accepted message must be at its carrier once and end once;
// only the death of the actors may leave some `unknown`, which are counted, never sent again by themselves, and settled
// by their receipts where the carrier did accept them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { seededRandom } from '../../platform/random.ts';
import { recordedMessages } from '../support/recorded-messages.ts';
import {
  type Reconciliation,
  expectRecorded,
  garbledAt,
  lateSettlementMs,
  assertClean,
  settledReconciliation,
} from '../support/reconciliation.ts';
import { type Promised, sendTraffic } from '../support/traffic.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';

const seed = 20_250;
const load = { ratePerSecond: 200, seconds: 6, mixed: true };
const total = load.ratePerSecond * load.seconds;
/** Submits in flight on one bind; there are two binds of each of the three carriers. */
const window = 20;
const inFlightMax = window * 2 * 3;
/** A receipt that finds the event store away, which the later kills are about, waits 5 s, then 30 s, then 120 s more. */
const storeAwayMs = 155_000;
const random = seededRandom(seed);
let harness: SystemHarness;
/** Everything accepted so far: a later kill must not undo it. */
const all: Promised[] = [];
let afterActors: Promised[] = [];

beforeAll(async () => {
  harness = await openSystemHarness({ responseMs: 'uniform:5,40', receiptMs: 'uniform:50,1500', window });
});
afterAll(() => harness?.stop());

/** Sends, and kills a child `times` meanwhile. */
async function sendAndKill(child: string, times: number): Promise<Promised[]> {
  const traffic = sendTraffic(harness.client, { ...load, seed: seed + all.length });
  for (let kill = 0; kill < times; kill += 1) {
    await systemClock.sleep(500 + random.unit() * ((load.seconds * 1_000) / times - 1_500));
    await harness.system.kill9(child);
  }
  const promised = await traffic;
  all.push(...promised);
  return promised;
}

describe('kill -9 under load of', () => {
  // First, because what it leaves unknown is settled while the others run.
  it('the actors: no message twice, none lost', async () => {
    afterActors = await sendAndKill('actors', 2);
    expect(afterActors).toHaveLength(total);
    expect(afterActors.filter(({ nonce }) => harness.smscPeers.countOf(nonce) > 1)).toEqual([]);
  });

  it.each([
    ['ingress', 2],
    ['nats-server', 2],
    ['analytics', 2],
    ['postgres', 1],
    ['control', 1],
  ] as const)('%s: each message once, and delivered', async (child, times) => {
    const promised = await sendAndKill(child, times);
    expect(promised).toHaveLength(total);
    const reconciliation = await settledReconciliation(harness, promised);
    expect(reconciliation).toEqual({ ...assertClean, statuses: { delivered: total } });
  });
});

describe('after all these kills', () => {
  let reconciliation: Reconciliation;

  it('what the actors left unknown is settled by its receipts, or never reached its carrier', {
    timeout: 300_000,
  }, async () => {
    reconciliation = await settledReconciliation(harness, afterActors, lateSettlementMs + storeAwayMs);
    const { delivered = 0, unknown = 0 } = reconciliation.statuses;
    process.stdout.write(
      `actors killed twice: ${delivered} delivered, ${unknown} unknown and never (whole) at the carrier\n`,
    );
    expect(reconciliation).toEqual({
      ...assertClean,
      statuses: unknown === 0 ? { delivered } : { delivered, unknown },
    });
    expect(delivered + unknown).toBe(total);
    // Intents without an answer are at most what the windows hold, for each of the two kills.
    expect(unknown).toBeLessThan(inFlightMax * 2);
  });

  it('every count agrees: carriers, API and ClickHouse', async () => {
    const whole = await settledReconciliation(harness, all);
    expect(whole).toMatchObject(assertClean);
    await harness.system.recorded();
    expect(await harness.system.stop()).toBe(0);
    const recorded = await recordedMessages(harness.system.dataDir);
    const { actual, expected, wereUnknown } = expectRecorded(recorded, all, whole);
    expect(actual).toEqual(expected);
    process.stdout.write(`kills: ${wereUnknown} messages were unknown at some time\n`);
    expect(garbledAt(harness.smscPeers, all, ({ id }) => recorded.messages.get(id)?.status === 'delivered')).toEqual(
      [],
    );
  });
});
