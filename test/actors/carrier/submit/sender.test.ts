// When a paced carrier's messages are written: those that are not urgent several at a time, an OTP at once.
import type { JsMsg } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { EventSequence } from '../../../../actors/carrier/deduplication/event-sequence.ts';
import { localClaims } from '../../../../actors/carrier/deduplication/intent-claims.ts';
import { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import type { SubmitToken } from '../../../../actors/carrier/in-flight/submit-token.ts';
import { CampaignShare } from '../../../../actors/carrier/pacing/campaign-share.ts';
import { pacing } from '../../../../actors/carrier/pacing/pacing.ts';
import { Lanes } from '../../../../actors/carrier/queue/lanes.ts';
import { Sender, type SenderParts } from '../../../../actors/carrier/submit/sender.ts';
import type { EventDone } from '../../../../cluster/bus/event-order.ts';
import type { Category } from '../../../../model/message.ts';
import { limits } from '../../../../platform/limits.ts';
import { carrierWith } from '../../../support/carrier-harness.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

const usualTps = 1_000;

/** A sender over a carrier that answers each submit at once; an intent is durable after `intentMs`. */
function setUp({ tps = usualTps, intentMs = 0 } = {}) {
  const clock = new ManualClock();
  const lanes = new Lanes<InFlightMessage>(50_000);
  const pace = pacing(tps);
  const campaignShare = new CampaignShare(clock);
  const written: { readonly category: Category; readonly atMs: number }[] = [];
  const port = {
    window: tps * 10,
    windowFree: tps * 10,
    submit({ inFlight }: Pick<SubmitToken, 'inFlight'>) {
      written.push({ category: inFlight.category, atMs: clock.monotonicMs() });
      return true;
    },
  };
  const sender = new Sender({
    carrier: carrierWith({ port: 1 }),
    lanes,
    pacing: {
      ...pace,
      written(segments: number, bind: number, nowMs: number) {
        const number = pace.written(segments, bind, nowMs);
        pace.answered({ number, bind, writtenAtMs: nowMs }, nowMs);
        return number;
      },
    },
    events: {
      hasCapacity: true,
      write: (_event: unknown, done: EventDone) =>
        intentMs === 0 ? done(true) : clock.after(intentMs, () => done(true)),
      flush() {},
    },
    claims: localClaims,
    campaignShare,
    sequence: new EventSequence(() => 0),
    ports: [{ ...port, submit: (_pdu: unknown, token: SubmitToken) => port.submit(token) }],
    clock,
    lateGates: () => ({ ok: true }),
  } as unknown as SenderParts);
  return {
    written,
    campaignShare,
    async put(category: Category, count = 1): Promise<void> {
      for (let nth = 0; nth < count; nth += 1) {
        const message = messageWith({ category, validUntilMs: clock.nowMs() + 3_600_000 });
        const inFlight = new InFlightMessage(message.messageId, message, {} as JsMsg, 1e9);
        inFlight.queue();
        expect(lanes.put(inFlight)).toBe(true);
      }
      sender.wake();
      await settled();
    },
    async run(ms: number): Promise<void> {
      for (let past = 0; past < ms; past += 1) {
        clock.advance(1);
        await settled();
      }
    },
    nowMs: () => clock.monotonicMs(),
  };
}

/** The sender checks what it may send at the end of a turn, and each intent wakes it again. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

test('messages of a campaign that wait for the pace are written some milliseconds apart, at the whole rate', async () => {
  const { put, run, written } = setUp();
  await put('promotional', 3_000);
  await run(2_000);
  const times = [...new Set(written.map(({ atMs }) => atMs))];
  const apart = times.slice(1).map((atMs, nth) => atMs - (times[nth] ?? 0));
  expect(Math.min(...apart)).toBeGreaterThanOrEqual(limits.carrier.pacedTogetherMs);
  // What is kept free for others (tokensReservedFor), and no more, is missing from the contract.
  expect(written.length).toBeGreaterThanOrEqual(2 * usualTps * 0.97);
});

test('an OTP is written at once between two turns of a campaign', async () => {
  const { put, run, written, nowMs } = setUp();
  await put('promotional', 3_000);
  await run(1_500);
  for (let nth = 0; nth < 20; nth += 1) {
    await run(7);
    const cameAtMs = nowMs();
    await put('otp');
    await run(2);
    const otp = written.filter(({ category }) => category === 'otp');
    expect(otp).toHaveLength(nth + 1);
    expect((otp[nth]?.atMs ?? 0) - cameAtMs).toBeLessThanOrEqual(1);
  }
});

for (const tps of [2, 10, 100, 200, 1_000, 5_000]) {
  for (const intentMs of [0, 4, 40]) {
    test(`a backlog uses a contract of ${tps} a second with intents of ${intentMs} ms`, async () => {
      const { put, run, written } = setUp({ tps, intentMs });
      const seconds = Math.max(2, 40 / tps);
      await put('promotional', tps * (seconds + 1));
      // The first second has what may be sent at once and what a new bind is not trusted with.
      await run(1_000);
      const before = written.length;
      await run(seconds * 1_000);
      expect(written.length - before).toBeGreaterThanOrEqual(Math.floor(tps * seconds * 0.97));
    });
  }
}

test('while OTP are late a campaign has a share of the contract, evenly, and transactional messages all of it', async () => {
  const { put, run, written, campaignShare } = setUp();
  const { shareMin, shrinkEveryMs } = limits.carrier.campaignShare;
  await put('promotional', 6_000);
  const late = async (seconds: number) => {
    for (let past = 0; past < seconds * 1_000; past += shrinkEveryMs) {
      campaignShare.otpTook(1);
      for (let nth = 0; nth < 3; nth += 1) campaignShare.otpTook(60);
      await run(shrinkEveryMs);
    }
  };
  await late(5);
  expect(campaignShare.ofNext()).toBe(shareMin);
  const before = written.length;
  await late(2);
  const share = written.slice(before);
  expect(share.length).toBeGreaterThanOrEqual(2 * usualTps * shareMin * 0.95);
  expect(share.length).toBeLessThanOrEqual(2 * usualTps * shareMin);
  // No second of it is fuller than another.
  const half = share.filter(({ atMs }) => atMs - (share[0]?.atMs ?? 0) < 1_000).length;
  expect(Math.abs(half - share.length / 2)).toBeLessThanOrEqual(usualTps / 50);
  await put('transactional', 3_000);
  const others = () => written.filter(({ category }) => category === 'transactional').length;
  await late(1);
  const first = others();
  await late(1);
  expect(others() - first).toBeGreaterThanOrEqual(usualTps * 0.97);
});
