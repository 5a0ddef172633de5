// A rolling restart on one machine at full load (fault 44): every process is asked to end and restarted, one after the
// other, while clients send without a pause. What was accepted is at its carrier once and delivered; and because every
// process drains, no message was ever unknown.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { recordedMessages } from '../support/recorded-messages.ts';
import { expectRecorded, garbledAt, assertClean, settledReconciliation } from '../support/reconciliation.ts';
import { type Promised, sendTraffic } from '../support/traffic.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';

const ratePerSecond = 250;
const pieceSeconds = 2;
const children = ['ingress', 'actors', 'control', 'analytics', 'nats-server', 'postgres'] as const;
let harness: SystemHarness;
let promised: Promised[] = [];

beforeAll(async () => {
  harness = await openSystemHarness({
    responseMs: 'uniform:5,40',
    receiptMs: 'uniform:50,1500',
    window: 20,
    // Nothing may be unknown. The carriers are in this process: when a busy machine stalls it for seconds, their
    // sessions must not be given up, and a drain must wait for their answers.
    configured: (text) => text.replaceAll('enquire_link_s: 30', 'enquire_link_s: 30\n    response_timer_s: 20'),
  });
});
afterAll(() => harness?.stop());

/** Sends at the rate, whatever became of earlier messages, until it is stopped. */
function keepSending(): { stop(): Promise<Promised[]> } {
  const pieces: Promise<Promised[]>[] = [];
  let sending = true;
  const pump = (async () => {
    while (sending) {
      pieces.push(
        sendTraffic(harness.client, { ratePerSecond, seconds: pieceSeconds, seed: 44 + pieces.length, mixed: true }),
      );
      await systemClock.sleep(pieceSeconds * 1_000);
    }
  })();
  return {
    async stop() {
      sending = false;
      await pump;
      return (await Promise.all(pieces)).flat();
    },
  };
}

describe('a rolling restart at full load', () => {
  it('of every process in turn: each message once, and delivered', { timeout: 240_000 }, async () => {
    const traffic = keepSending();
    await systemClock.sleep(1_000);
    for (const child of children) await harness.system.restart(child);
    promised = await traffic.stop();
    expect(promised.length).toBeGreaterThan(children.length * ratePerSecond);
    const reconciliation = await settledReconciliation(harness, promised);
    expect(reconciliation).toEqual({ ...assertClean, statuses: { delivered: promised.length } });
  });

  it('every count agrees, and nothing was unknown meanwhile', async () => {
    const reconciliation = await settledReconciliation(harness, promised);
    await harness.system.recorded();
    expect(await harness.system.stop()).toBe(0);
    const recorded = await recordedMessages(harness.system.dataDir);
    const { actual, expected, wereUnknown } = expectRecorded(recorded, promised, reconciliation);
    expect(actual).toEqual(expected);
    expect(wereUnknown).toBe(0);
    expect(recorded.rows.resent).toBeUndefined();
    expect(garbledAt(harness.smscPeers, promised, () => true)).toEqual([]);
  });
});
