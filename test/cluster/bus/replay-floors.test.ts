// Where a carrier begins to read after a restart, and what the bus keeps of it: the record, and the pure decision.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { oldestStoredAtMs, waitsFor } from '../../../cluster/bus/waiting-messages.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { type FloorRecord, ReplayFloors, replayStart } from '../../../cluster/bus/replay-floors.ts';
import { systemClock } from '../../../platform/clock.ts';
import { type TestBus, startBus } from '../../support/bus.ts';

let on: TestBus;
let publisher: Publisher;
beforeAll(async () => {
  on = await startBus();
  publisher = new Publisher(on.bus);
});
afterAll(async () => {
  publisher.close();
  await on.stop();
});

describe('a carrier begins to read', () => {
  const ends = { stream: 'made today', firstSeq: 100, lastSeq: 200 };
  const floor = (seq: number, stream = ends.stream): FloorRecord => ({ stream, seq, beforeAtNs: null, stopped: false });

  test('at its floor, up to one that is right behind the end', () => {
    expect(replayStart(floor(150), ends)).toBe(150);
    expect(replayStart(floor(201), ends)).toBe(201);
  });
  test('at the beginning without a floor, with one of another stream, or when the stream has lost its end', () => {
    expect(replayStart(null, ends)).toBe(100);
    expect(replayStart(floor(150, 'made yesterday'), ends)).toBe(100);
    expect(replayStart(floor(202), ends)).toBe(100);
  });
  test('never before the floor or the beginning, whatever the record contains', () => {
    fc.assert(
      fc.property(fc.nat(300), fc.nat(300), fc.nat(300), fc.boolean(), (seq, firstSeq, length, same) => {
        const stream = { stream: 'made today', firstSeq, lastSeq: firstSeq + length };
        const start = replayStart(floor(seq, same ? 'made today' : 'other'), stream);
        expect(start).toBeGreaterThanOrEqual(firstSeq);
        // Nothing from the floor on is left out.
        expect(start).toBeLessThanOrEqual(Math.max(1, seq, firstSeq));
      }),
    );
  });
});

test('a floor decodes to what was written, and one that cannot be read is none', async () => {
  const floors = new ReplayFloors(on.bus);
  expect(await floors.read('alpha')).toBeNull();
  const record = { stream: (await floors.ends()).stream, seq: 7, beforeAtNs: '1', stopped: true };
  await floors.write('alpha', record);
  expect(await floors.read('alpha')).toEqual(record);
  on.bus.connection.publish('$KV.replay.beta', '{"seq":"7"}');
  await on.bus.connection.flush();
  expect(await new ReplayFloors(on.bus).all()).toEqual(new Map([['alpha', record]]));
});

test('the oldest record that waits for a carrier, in whatever lane, and none when nothing waits', async () => {
  const beforeMs = systemClock.nowMs();
  expect(await oldestStoredAtMs(on.bus, 'alpha')).toBe(Number.POSITIVE_INFINITY);
  await publisher.publishOne('mt.promo.alpha.a3', Buffer.from('x'), null);
  const oldestMs = await oldestStoredAtMs(on.bus, 'alpha');
  expect(oldestMs).toBeGreaterThanOrEqual(beforeMs - 1);
  await publisher.publishOne('mt.otp.alpha.3', Buffer.from('x'), null);
  expect(await oldestStoredAtMs(on.bus, 'alpha')).toBe(oldestMs);
  expect([await waitsFor(on.bus, 'alpha'), await waitsFor(on.bus, 'alph')]).toEqual([true, false]);
  await on.bus.manager.streams.purge('MT_PROMO');
  expect(await oldestStoredAtMs(on.bus, 'alpha')).toBeGreaterThanOrEqual(oldestMs);
});
