// A rolling restart on one machine at full load (fault 44): every process is asked to end and started again, one after
// the other, while clients send without a pause. What was promised is at its carrier once and delivered; and because
// every process drains, no message was unknown for even a moment.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { recordedMessages } from '../support/recorded-messages.ts';
import { expectRecorded, garbledAt, nothingWrong, settledReckoning } from '../support/reckoning.ts';
import { type Promised, sendTraffic } from '../support/traffic.ts';
import { type WholeHouse, openWholeHouse } from '../support/whole-house.ts';

const ratePerSecond = 250;
const pieceSeconds = 2;
const children = ['ingress', 'actors', 'control', 'analytics', 'nats-server', 'postgres'] as const;
let house: WholeHouse;
let promised: Promised[] = [];

beforeAll(async () => {
  house = await openWholeHouse({ responseMs: 'uniform:5,40', receiptMs: 'uniform:50,1500', window: 20 });
});
afterAll(() => house?.stop());

/** Sends at the rate, whatever becomes of what was sent before, until it is told to stop. */
function keepSending(): { stop(): Promise<Promised[]> } {
  const pieces: Promise<Promised[]>[] = [];
  let sending = true;
  const pump = (async () => {
    while (sending) {
      pieces.push(
        sendTraffic(house.client, { ratePerSecond, seconds: pieceSeconds, seed: 44 + pieces.length, mixed: true }),
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
    for (const child of children) await house.system.restart(child);
    promised = await traffic.stop();
    expect(promised.length).toBeGreaterThan(children.length * ratePerSecond);
    const reckoning = await settledReckoning(house, promised, 60_000);
    expect(reckoning).toEqual({ ...nothingWrong, statuses: { delivered: promised.length } });
  });

  it('every count agrees, and nothing was unknown meanwhile', { timeout: 60_000 }, async () => {
    const reckoning = await settledReckoning(house, promised);
    await house.system.recorded();
    expect(await house.system.stop()).toBe(0);
    const recorded = await recordedMessages(house.system.dataDir);
    const { actual, expected, wereUnknown } = expectRecorded(recorded, promised, reckoning);
    expect(actual).toEqual(expected);
    expect(wereUnknown).toBe(0);
    expect(recorded.rows.resent).toBeUndefined();
    expect(garbledAt(house.farEnds, promised, () => true)).toEqual([]);
  });
});
