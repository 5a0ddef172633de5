// Which messages wait for their receipt without an ack, how long, and what is made of those that wait too long: the real
// parts with a manual clock. receipt-hedges.test.ts has the same with real carriers.
import type { JsMsg } from '@nats-io/jetstream';
import { describe, expect, test } from 'vitest';
import { CarrierHealth } from '../../../../actors/carrier/failover/health.ts';
import { Hedges } from '../../../../actors/carrier/failover/hedges.ts';
import { ReceiptHedges } from '../../../../actors/carrier/failover/receipt-hedges.ts';
import { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import { submitHeader } from '../../../../actors/carrier/submit/submit-pdu.ts';
import { messageSubject, overflowSubject } from '../../../../cluster/bus/subjects.ts';
import { eventOfMessage } from '../../../../model/delivery-event.ts';
import type { Message } from '../../../../model/message.ts';
import { limits } from '../../../../platform/limits.ts';
import type { HedgingRules } from '../../../../policy/otp-hedging/contract.ts';
import { carrierWith } from '../../../support/carrier-harness.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

const { countMin } = limits.otpHedging.receiptTimes;
const rules: HedgingRules = {
  ...{ enabled: true, share: 0.25, control: 0 },
  ...{ responseFloorMs: 250, receipts: true, receiptFloorMs: 500 },
};
const failover = { otpFailoverAfterMs: 1_000, othersFailoverAfterMs: 30_000 };
const carrier = carrierWith({ port: 1 });
const shardHeldMax = 400;

class Setting {
  readonly clock = new ManualClock();
  readonly health = new CarrierHealth({ carrier: 'alpha', clock: this.clock, rules: failover, publish() {} });
  readonly copies: string[] = [];
  readonly finished: InFlightMessage[] = [];
  isReceiving = true;
  readonly hedges: Hedges;
  readonly receipts: ReceiptHedges;
  #count = 0;

  constructor(changes: Partial<HedgingRules> = {}) {
    const { clock, health } = this;
    const completion = { finishWhenDone: (inFlight: InFlightMessage) => void this.finished.push(inFlight) };
    this.hedges = new Hedges({
      ...{ carrier: 'alpha', clock, rules: { ...rules, ...changes }, completion },
      alternatives: { best: () => ({ to: 'beta', how: 'good' as const }) },
      reroute: {
        copy: (inFlight) => {
          inFlight.hedged = 'copied';
          this.copies.push(inFlight.key);
        },
      },
      events: { write: (_event, done) => done(true) },
    });
    for (let at = 0; at < 400; at += 1) this.hedges.earn('acc_1', 'beta');
    this.receipts = new ReceiptHedges({
      ...{ clock, hedges: this.hedges, health, completion, cancels: { onAccepted() {} } },
      operatorPrefixOf: (to) => to.slice(0, 6),
      isReceiving: () => this.isReceiving,
      shardHeldMax,
    });
  }

  /** Accepted by the carrier a moment ago. */
  accepted(changes: Partial<Message> = {}, subject = messageSubject('otp', 'alpha', 'acc_1')): InFlightMessage {
    this.#count += 1;
    const nowMs = this.clock.nowMs();
    const message = messageWith({
      ...{ messageId: `m${this.#count}` as Message['messageId'], accountId: 'acc_1' as Message['accountId'] },
      ...{ category: 'otp', hedge: 'may', plan: ['beta'], segments: 1, recipient: '+8801712345678' },
      ...{ acceptedAtMs: nowMs, validUntilMs: nowMs + 300_000 },
      ...changes,
    });
    const record = { subject } as JsMsg;
    const inFlight = new InFlightMessage(message.messageId, message, record, this.clock.monotonicMs() + 60_000);
    inFlight.header = submitHeader(message, carrier);
    inFlight.queue();
    inFlight.beginIntent(0, 0, 1, 1);
    inFlight.send();
    inFlight.written(1);
    const token = { inFlight, segment: 1, attempt: 1, writtenAtMs: this.clock.monotonicMs(), bind: 0, number: 0 };
    this.receipts.onAccepted(token, `c${this.#count}`);
    inFlight.answered(1);
    inFlight.accept(1);
    inFlight.settle();
    return inFlight;
  }

  receiptOf({ message }: InFlightMessage, tookMs: number | null): void {
    this.receipts.onReceipt(eventOfMessage(message, { kind: 'submitted', attempt: 1, segment: 1, atMs: 0 }), tookMs);
  }

  /** The carrier's receipts to this prefix take so long. */
  learn(tookMs: number, count: number = countMin, recipient = '+8801712345678'): void {
    const message = messageWith({ recipient });
    const submitted = eventOfMessage(message, { kind: 'submitted', attempt: 1, segment: 1, atMs: 0 });
    for (let at = 0; at < count; at += 1) this.receipts.onReceipt(submitted, tookMs);
  }
}
const isHeld = (inFlight: InFlightMessage) => inFlight.pendingWrites > 0;

describe('a message waits for its receipt', () => {
  test('as long as the p95 of its prefix, but not shorter than the floor: a copy then, and none before', () => {
    for (const [tookMs, afterMs] of [
      [2_000, 2_000],
      [20, 500],
    ] as const) {
      const setting = new Setting();
      setting.learn(tookMs);
      const inFlight = setting.accepted();
      setting.clock.advance(afterMs - 1);
      expect([setting.copies, isHeld(inFlight)]).toEqual([[], true]);
      // A bucket of the histogram is a tenth wide.
      setting.clock.advance(afterMs * 0.1 + limits.otpHedging.wakeEveryMs + 1);
      expect([setting.copies, isHeld(inFlight)]).toEqual([[inFlight.key], false]);
    }
  });

  test('and no longer: its receipt lets its ack go at once, once, whatever it says', () => {
    const setting = new Setting();
    setting.learn(20);
    const [one, other] = [setting.accepted(), setting.accepted()];
    setting.receiptOf(one, 20);
    setting.receiptOf(other, null);
    setting.receiptOf(one, 20);
    expect([isHeld(one), isHeld(other)]).toEqual([false, false]);
    expect(setting.finished).toEqual([one, other]);
    setting.clock.advance(60_000);
    expect(setting.copies).toEqual([]);
    expect(setting.clock.timers).toBe(0);
  });

  test.each([
    ['without the mark of POST /v1/otp', { hedge: undefined }],
    ['the second copy', { hedge: 'copy' }],
    ['of several segments', { segments: 2 }],
    ['sent once more', { resends: 1 }],
    ['to a prefix that gets no receipts', { recipient: '+8801999999999' }],
  ] as const)('not one %s', (_, changes) => {
    const setting = new Setting();
    setting.learn(20);
    const inFlight = setting.accepted(changes);
    expect(isHeld(inFlight)).toBe(false);
  });

  test('not with less than three times as long left: the copy would need two of them', () => {
    const setting = new Setting();
    setting.learn(20);
    const nowMs = setting.clock.nowMs();
    expect(isHeld(setting.accepted({ validUntilMs: nowMs + 3 * 500 }))).toBe(true);
    expect(isHeld(setting.accepted({ validUntilMs: nowMs + 3 * 500 - 1 }))).toBe(false);
  });

  test('not where receipts take too long to say anything in time', () => {
    const { receiptWaitMsMax } = limits.otpHedging;
    const setting = new Setting();
    setting.learn(receiptWaitMsMax / 1.11);
    expect(isHeld(setting.accepted())).toBe(true);
    setting.learn(receiptWaitMsMax + 1, 5_000);
    expect(isHeld(setting.accepted())).toBe(false);
    expect(setting.receipts.afterMs).toBeNull();
  });

  test('not beyond the bound of its shard, which is free again when one ends; and none of an overflow shard', () => {
    const setting = new Setting();
    setting.learn(20);
    const all = Array.from({ length: shardHeldMax / 4 }, () => setting.accepted());
    expect(all.every(isHeld)).toBe(true);
    expect(isHeld(setting.accepted())).toBe(false);
    expect(isHeld(setting.accepted({}, 'mt.otp.alpha.99'))).toBe(true);
    expect(isHeld(setting.accepted({}, overflowSubject('otp', 'alpha', 'acc_1')))).toBe(false);
    setting.receiptOf(all[0]!, 20);
    expect(isHeld(setting.accepted())).toBe(true);
  });

  test('until the actor stops: all of them are let go, and none is taken any more', () => {
    const setting = new Setting();
    setting.learn(20);
    const all = [setting.accepted(), setting.accepted()];
    setting.receipts.close();
    expect(all.map(isHeld)).toEqual([false, false]);
    expect(isHeld(setting.accepted())).toBe(false);
    expect(setting.clock.timers).toBe(0);
  });
});

describe('late receipts', () => {
  test('while no bind can bring any: no copy, and nothing against the carrier', () => {
    const setting = new Setting();
    setting.learn(20);
    for (let at = 0; at < 40; at += 1) setting.accepted();
    setting.isReceiving = false;
    setting.clock.advance(1_000);
    expect(setting.copies).toEqual([]);
    expect(setting.health.lateReceiptShare).toBeNull();
  });

  test('of many are an outage: none of them gets a copy, and it is reported to the health', () => {
    const setting = new Setting();
    setting.learn(20);
    for (let at = 0; at < 60; at += 1) setting.accepted();
    setting.clock.advance(1_000);
    expect(setting.copies).toEqual([]);
    expect(setting.health.lateReceiptShare).toBeGreaterThan(0.9);
  });

  test('of the first ones of an outage get no copy either, when those behind them wait too', () => {
    const setting = new Setting();
    setting.learn(20);
    for (let at = 0; at < 100; at += 1) setting.receiptOf(setting.accepted(), 20);
    setting.accepted();
    setting.clock.advance(120);
    for (let at = 0; at < limits.otpHedging.stalledMin; at += 1) setting.accepted();
    setting.clock.advance(390);
    expect(setting.health.lateReceiptShare).toBeLessThan(0.05);
    expect(setting.copies).toEqual([]);
  });

  test('of some are hedged, as many as the budget has tokens', () => {
    const setting = new Setting();
    setting.learn(20);
    for (let round = 0; round < 70; round += 1) {
      for (let at = 0; at < 19; at += 1) setting.receiptOf(setting.accepted(), 20);
      setting.accepted();
      setting.clock.advance(1_000);
    }
    expect(setting.copies).toHaveLength(limits.otpHedging.budget.tokensMax);
  });

  test('at a carrier that is avoided for another reason get no copy', () => {
    const setting = new Setting();
    setting.learn(20);
    setting.accepted();
    for (let at = 0; at < 20; at += 1) setting.health.onNoAnswer();
    setting.clock.advance(200);
    setting.health.look(1);
    expect(setting.health.state).toBe('weak');
    setting.clock.advance(1_000);
    expect(setting.copies).toEqual([]);
  });

  test('that our own thread could not read are read first', () => {
    const setting = new Setting();
    setting.learn(20);
    const inFlight = setting.accepted();
    setting.clock.stall(700);
    // Its receipt was in the socket meanwhile.
    expect(setting.copies).toEqual([]);
    setting.receiptOf(inFlight, 20);
    setting.clock.advance(1_000);
    expect(setting.copies).toEqual([]);
    const another = setting.accepted();
    setting.clock.stall(700);
    setting.clock.advance(limits.otpHedging.wakeEveryMs);
    expect(setting.copies).toEqual([another.key]);
  });

  test('of the control group are noted once, and spend a token', () => {
    const setting = new Setting();
    setting.learn(20);
    const inFlight = setting.accepted({ hedge: 'control' });
    setting.clock.advance(1_000);
    expect([setting.copies, inFlight.hedged]).toEqual([[], 'noted']);
    expect(setting.hedges.routeOf(inFlight)).toBeNull();
  });

  test('after the rule was switched off get no copy', () => {
    const setting = new Setting();
    setting.learn(20);
    const inFlight = setting.accepted();
    setting.hedges.rules = { ...rules, receipts: false };
    setting.clock.advance(1_000);
    expect([setting.copies, isHeld(inFlight)]).toEqual([[], false]);
  });
});
