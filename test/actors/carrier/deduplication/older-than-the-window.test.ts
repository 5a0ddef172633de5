// Intents and accepted segments that are older than the replay window: their PDU waits for a bind, or is outstanding
// under a long response timer, or a further segment is refused for minutes. Then kill -9. All three run at once,
// because each takes as long as a replay window.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { suspend } from '../../../support/processes.ts';
import { limits } from '../../../../platform/limits.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { eventsOf } from '../../../support/invariant.ts';

const windowMs = limits.carrier.replayWindowMs;
const testMs = windowMs + 90_000;

const submitsOf = (harness: CarrierHarness) => harness.simulator.stats().submits.total;
const natsPid = (harness: CarrierHarness) =>
  Number(readFileSync(join(harness.nats.dataDir, 'run/nats-server.pid'), 'utf8'));

/** Other messages flow meanwhile, so that the carrier's lanes are served all the time. */
async function trafficFor(harness: CarrierHarness, ms: number): Promise<void> {
  const endAtMs = systemClock.monotonicMs() + ms;
  const another = async () => {
    await harness.send(1);
    return systemClock.monotonicMs() >= endAtMs;
  };
  await until('the time is over', another, { limitMs: ms + 20_000, everyMs: 1_000 });
}

describe.concurrent('older than the replay window', () => {
  test(
    'submits unanswered for longer than the window under a response timer of a minute and more, then kill -9: unknown, not sent again',
    async () => {
      const harness = await openCarrierHarness({});
      try {
        harness.simulator.setFault('no-resp');
        const carrier = carrierWith(harness.simulator, {
          responseTimerMs: windowMs + 60_000,
          bind: { window: 50, count: 1 },
        });
        const first = await harness.host([carrier]);
        const sent = await harness.send(20);
        await until('all are out', () => harness.simulator.stats().submits.total === 20);
        harness.simulator.setFault(null);
        await trafficFor(harness, windowMs + 6_000);
        await first.kill9();
        await harness.host([carrier]);
        expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { unknown: 20 } });
      } finally {
        await harness.stop();
      }
    },
    testMs,
  );

  test(
    'a part that was taken longer than the window ago while the next is refused, then kill -9: it is not sent again',
    async () => {
      const harness = await openCarrierHarness({ response: 'fixed:10' });
      try {
        const errors = { ESME_RSUBMITFAIL: 'later' } as const;
        const carrier = carrierWith(harness.simulator, { errors, bind: { window: 10, count: 1 } });
        const text = (nonce: string) => `#${nonce}# ${'long '.repeat(85)}`;
        // The second segment of each is refused.
        harness.simulator.setFault('reject-part', { arg: 2 });
        const first = await harness.host([carrier]);
        const sent = await harness.send(3, { segments: 3 }, text);
        await until('first and third parts are taken', () => harness.simulator.stats().submits.accepted >= 6);
        await trafficFor(harness, windowMs + 6_000);
        await first.kill9();
        harness.simulator.setFault(null);
        await harness.host([carrier]);
        const settled = await harness.settled(sent);
        expect(settled).toMatchObject({ twice: [], never: [], statuses: { delivered: 3 } });
      } finally {
        await harness.stop();
      }
    },
    testMs,
  );

  test(
    'an intent whose PDU no bind takes for half a window is closed, and the message goes out under a new one',
    async () => {
      const harness = await openCarrierHarness({});
      try {
        await harness.actor(carrierWith(harness.simulator, { tps: 5, bind: { window: 50, count: 1 } }));
        const sent = await harness.send(40);
        await until('under way', () => submitsOf(harness) >= 5);
        // Intents are published to a bus that is suspended; when it resumes there is no bind any more. The first of them is
        // made when the signal takes effect; on a busy machine suspend() returns half a second after that.
        const stoppedAtMs = systemClock.monotonicMs();
        await suspend(-natsPid(harness));
        await until('some are chosen meanwhile', () => systemClock.monotonicMs() - stoppedAtMs > 1_500);
        harness.simulator.setFault('already-bound');
        harness.simulator.setFault('unbind', { now: true });
        await until('no bind', () => harness.simulator.stats().binds.now === 0);
        const out = submitsOf(harness);
        process.kill(-natsPid(harness), 'SIGCONT');
        const closed = async () => (await eventsOf(harness.bus)).filter(({ error }) => error === 'not_written');
        await until('the intents are closed', async () => (await closed()).length > 0, {
          everyMs: 500,
        });
        expect(systemClock.monotonicMs() - stoppedAtMs).toBeGreaterThan(limits.carrier.intentAgeMsMax);
        expect(submitsOf(harness)).toBe(out);
        const { messageId } = (await closed())[0]!;
        harness.simulator.setFault(null);
        expect(await harness.settled(sent, 100_000)).toMatchObject({
          twice: [],
          never: [],
          statuses: { delivered: 40 },
        });
        const published = (await eventsOf(harness.bus)).filter((each) => each.messageId === messageId);
        const intents = published.filter(({ kind }) => kind === 'intent');
        expect(intents.map(({ attempt }) => attempt)).toEqual([1, 2]);
        expect(published.findIndex(({ error }) => error === 'not_written')).toBeLessThan(
          published.indexOf(intents[1]!),
        );
      } finally {
        await harness.stop();
      }
    },
    limits.bus.duplicateWindowMs + 200_000,
  );
});
