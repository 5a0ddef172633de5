// Releases that wait for room in their streams.
import { expect, test } from 'vitest';
import type { JsMsg } from '@nats-io/jetstream';
import { DueReleases } from '../../../actors/later/due-releases.ts';
import { ManualClock } from '../../support/manual-clock.ts';

function started(max = 10) {
  const clock = new ManualClock();
  const full = new Set<string>();
  const published: string[] = [];
  const due = new DueReleases<null>({
    max,
    hasCapacity: (subject) => !full.has(subject),
    publish: ({ later }) => void published.push(later.releaseId),
    clock,
  });
  const add = (subject: string, releaseId: string) =>
    due.add({ later: { subject, releaseId, dueAtMs: 0, cancelable: null }, record: {} as JsMsg, open: null });
  return { clock, full, published, due, add };
}
const otp = 'mt.otp.alpha.a';
const promotional = 'mt.promo.alpha.a';

test('a stream that is full holds up its own releases only, which keep their order', () => {
  const { clock, full, published, add } = started();
  full.add(otp);
  for (const [subject, id] of [
    [otp, 'o1'],
    [promotional, 'p1'],
    [otp, 'o2'],
    [promotional, 'p2'],
  ] as const)
    add(subject, id);
  clock.advance(5);
  expect(published).toEqual(['p1', 'p2']);
  full.clear();
  clock.advance(5);
  expect(published).toEqual(['p1', 'p2', 'o1', 'o2']);
});

test('it looks for room only while something waits', () => {
  const { clock, full, published, add } = started();
  expect(clock.timers).toBe(0);
  full.add(otp);
  add(otp, 'o1');
  clock.advance(1_000);
  expect(clock.timers).toBe(1);
  full.clear();
  clock.advance(5);
  expect([published, clock.timers]).toEqual([['o1'], 0]);
  full.add(otp);
  add(otp, 'o2');
  full.clear();
  clock.advance(5);
  expect([published, clock.timers]).toEqual([['o1', 'o2'], 0]);
});

test('of one stream as many wait as are allowed', () => {
  const { full, add } = started(2);
  full.add(otp);
  expect([add(otp, 'o1'), add(otp, 'o2'), add(otp, 'o3'), add(promotional, 'p1')]).toEqual([true, true, false, true]);
});

test('after the close nothing is published, and no timer is left', () => {
  const { clock, full, published, due, add } = started();
  full.add(otp);
  add(otp, 'o1');
  full.clear();
  due.close();
  due.drain();
  add(otp, 'o2');
  clock.advance(1_000);
  expect([published, clock.timers]).toEqual([[], 0]);
});
