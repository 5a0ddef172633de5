// The decisions a carrier remembers: the newest ones, in order, in pieces, and few entries for repeated decisions.
import { describe, expect, it } from 'vitest';
import { DecisionRing, watchPacing } from '../../../actors/flight/decision-ring.ts';
import { deliveryEvent } from '../../../model/delivery-event.ts';
import { messageWith } from '../../support/messages.ts';
import { ManualClock } from '../../support/manual-clock.ts';

function ring(capacity = 4): { ring: DecisionRing; clock: ManualClock; details: () => string[] } {
  const clock = new ManualClock();
  const made = new DecisionRing(capacity, clock);
  return { ring: made, clock, details: () => made.read(0, 1_000).entries.map((each) => each.detail) };
}

describe('a ring of decisions', () => {
  it('keeps the newest, oldest first, with wall time', () => {
    const { ring: one, clock, details } = ring();
    for (const detail of ['a', 'b', 'c', 'd']) one.note('bind', detail);
    expect(details()).toEqual(['a', 'b', 'c', 'd']);
    clock.advance(250);
    one.note('bind', 'e', 'sms_1', 17, 3);
    expect(details()).toEqual(['b', 'c', 'd', 'e']);
    expect(one.size).toBe(4);
    expect(one.read(0, 10).entries.at(-1)).toEqual({
      atMs: clock.nowMs(),
      kind: 'bind',
      messageId: 'sms_1',
      segment: 3,
      attempt: 17,
      detail: 'e',
      times: 1,
    });
  });

  it('is read in pieces, from where the last one ended, and from its end', () => {
    const { ring: one } = ring();
    for (let count = 0; count < 9; count += 1) one.note('bind', String(count));
    const first = one.read(0, 3);
    expect(first.entries.map((each) => each.detail)).toEqual(['5', '6', '7']);
    const second = one.read(first.next, 3);
    expect(second.entries.map((each) => each.detail)).toEqual(['8']);
    expect(one.read(second.next, 3)).toEqual({ entries: [], next: 9 });
    expect(one.read(-2, 10).entries.map((each) => each.detail)).toEqual(['7', '8']);
    expect(one.read(-100, 10).entries).toHaveLength(4);
  });

  it('notes a wait when its reason changes, and once a second how often', () => {
    const { ring: one, clock } = ring(100);
    for (let count = 0; count < 500; count += 1) {
      one.delayed('pacing');
      clock.advance(4.5);
    }
    one.delayed('window');
    one.delayed('pacing');
    expect(one.read(0, 100).entries.map(({ kind, detail, times }) => [kind, detail, times])).toEqual([
      ['held_back', 'pacing', 1],
      ['held_back', 'pacing', 223],
      ['held_back', 'pacing', 223],
      ['held_back', 'window', 1],
      ['held_back', 'pacing', 1],
    ]);
  });

  it('notes a wait for a command once, and again after the next command', () => {
    const { ring: one, clock } = ring(100);
    for (const what of ['pause', 'drain']) {
      one.command(what);
      for (let count = 0; count < 100; count += 1) {
        one.delayed('order');
        clock.advance(200);
      }
    }
    expect(one.read(0, 100).entries.map(({ kind, detail }) => [kind, detail])).toEqual([
      ['order', 'pause'],
      ['held_back', 'order'],
      ['order', 'drain'],
      ['held_back', 'order'],
    ]);
  });

  it('notes a state once', () => {
    const { ring: one, details } = ring();
    for (const state of ['good', 'good', 'weak: no_bind', 'weak: no_bind', 'good']) one.changed('health', state);
    expect(details()).toEqual(['good', 'weak: no_bind', 'good']);
  });

  it('has what the events of a message say, the intent as the choice it was', () => {
    const { ring: one, clock } = ring();
    const context = { ...messageWith(), clientReference: null };
    one.event(deliveryEvent(context, { kind: 'intent', atMs: clock.nowMs(), attempt: 1 }));
    one.event(
      deliveryEvent(context, {
        kind: 'submitted',
        atMs: clock.nowMs(),
        attempt: 1,
        segment: 2,
        carrierMessageId: '9a',
      }),
    );
    one.event(deliveryEvent(context, { kind: 'blocked', atMs: clock.nowMs(), error: 'recipient_opted_out' }));
    expect(
      one.read(0, 10).entries.map(({ kind, messageId, segment, detail }) => [kind, messageId, segment, detail]),
    ).toEqual([
      ['chosen', context.messageId, 0, ''],
      ['submitted', context.messageId, 2, '9a'],
      ['blocked', context.messageId, 0, 'recipient_opted_out'],
    ]);
  });

  it('notes the outcome of a refusal', () => {
    const { ring: one, details } = ring();
    const refusal = { status: 88, statusName: 'ESME_RTHROTTLED', segment: 1, attempt: 17, mayComeBack: false };
    const inFlight = { message: messageWith() };
    one.verdict(inFlight, refusal, { action: 'later', afterMs: 149.6, pauseMs: 250, slower: true });
    one.verdict(inFlight, refusal, { action: 'next', pauseMs: 0, slower: false });
    one.verdict(
      inFlight,
      { ...refusal, statusName: 'ESME_RBINDFAIL' },
      { action: 'stop', afterMs: 30_000, goesElsewhere: true },
    );
    expect(details()).toEqual([
      'ESME_RTHROTTLED: later, in 150 ms, the carrier rests 250 ms, less of its rate',
      'ESME_RTHROTTLED: next',
      'ESME_RBINDFAIL: stop, in 30000 ms, the message goes elsewhere',
    ]);
  });
});

describe('watched pacing', () => {
  it('passes every call on, and notes a cut only when it is one', () => {
    const { ring: one, clock, details } = ring();
    const calls: string[] = [];
    let perS = 100;
    const pace = watchPacing(
      {
        ratePerS: () => perS,
        pauseUntil: (atMs) => void calls.push(`pause ${atMs}`),
        slowDown(nowMs) {
          calls.push(`slow ${nowMs}`);
          if (perS === 100) perS = 50;
        },
      },
      one,
      clock,
    );
    pace.slowDown(1);
    pace.slowDown(2);
    const beganMs = clock.monotonicMs();
    pace.pauseUntil(beganMs + 250);
    clock.advance(100);
    pace.pauseUntil(beganMs + 350);
    clock.advance(250);
    pace.pauseUntil(beganMs + 360);
    expect(calls).toEqual(['slow 1', 'slow 2', ...[250, 350, 360].map((afterMs) => `pause ${beganMs + afterMs}`)]);
    expect(details()).toEqual(['cut from 100.0 to 50.0 segments a second', 'paused for 250 ms', 'paused for 10 ms']);
  });
});
