// Cancels against the end of their second on a real nats-server: the first one wins, and both sides agree.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cancellations, cancellations } from '../../../cluster/bus/cancellations.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { cancelSubject, hourOf } from '../../../cluster/bus/subjects.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestBus, startBus } from '../../support/bus.ts';

let bus: TestBus;
let publisher: Publisher;
let cancels: Cancellations;
/** Far enough ahead that no test reaches it. */
let second = Math.floor(systemClock.nowMs() / 1_000) + 7_200;

beforeAll(async () => {
  bus = await startBus();
  publisher = new Publisher(bus.bus);
  cancels = cancellations(bus.bus, publisher);
});
afterAll(async () => {
  publisher.close();
  await bus.stop();
});
const next = () => (second += 1);

test('what is canceled before the end is in the set, a later cancel is too late', async () => {
  const at = next();
  expect(await cancels.cancel('sms_a', at * 1_000)).toBe('canceled');
  expect(await cancels.cancel('sms_b', at * 1_000 + 999)).toBe('canceled');
  expect(await cancels.close(at)).toEqual(new Set(['sms_a', 'sms_b']));
  expect(await cancels.cancel('sms_c', at * 1_000)).toBe('too_late');
  // A repeat gets the first answer, whichever that was.
  expect(await cancels.cancel('sms_a', at * 1_000)).toBe('canceled');
  expect(await cancels.close(at)).toEqual(new Set(['sms_a', 'sms_b']));
});

test('a second without cancels ends with nothing, for every releaser', async () => {
  const at = next();
  expect(await Promise.all([cancels.close(at), cancels.close(at), cancels.close(at)])).toEqual([
    new Set(),
    new Set(),
    new Set(),
  ]);
  expect(await cancels.cancel('sms_a', at * 1_000)).toBe('too_late');
});

test('in a race of forty cancels with three ends both sides agree on every message', async () => {
  for (let round = 0; round < 10; round += 1) {
    const at = next();
    const ids = Array.from({ length: 40 }, (_, index) => `sms_${round}_${index}`);
    const ends: Promise<ReadonlySet<string>>[] = [];
    const answers = await Promise.all(
      ids.map(async (id, index) => {
        if (index % 13 === 12) ends.push(cancels.close(at));
        return cancels.cancel(id, at * 1_000);
      }),
    );
    const [first, ...others] = await Promise.all(ends);
    for (const other of others) expect(other).toEqual(first);
    expect(first).toEqual(new Set(ids.filter((_, index) => answers[index] === 'canceled')));
    expect(answers.every((answer) => answer === 'canceled' || answer === 'too_late')).toBe(true);
  }
});

test('a past time is not cancelable, whether or not its second was ended', async () => {
  expect(await cancels.cancel('sms_a', systemClock.nowMs() - 1)).toBe('too_late');
});

test('one second accepts so many cancels and not one more, and can still be ended', async () => {
  const at = next();
  const full = limits.bus.cancelsPerSecondMax;
  await publisher.publishOne(cancelSubject(at), Buffer.from(`${full - 1} sms_x`), null);
  expect(await cancels.cancel('sms_last', at * 1_000)).toBe('canceled');
  expect(await cancels.cancel('sms_more', at * 1_000)).toBe('full');
  expect(await cancels.close(at)).toEqual(new Set(['sms_x', 'sms_last']));
});

test('an hour is forgotten as a whole', async () => {
  const at = next();
  await cancels.cancel('sms_a', at * 1_000);
  await cancels.forget(hourOf(at));
  expect(await cancels.close(at)).toEqual(new Set());
});
