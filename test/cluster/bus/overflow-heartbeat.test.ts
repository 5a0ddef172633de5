// The entry points' view of accounts that flood a lane: where their messages go, when they are refused, and when that
// ends. Malformed heartbeats, silence and other accounts change nothing.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OverflowHeartbeats, overflowHeartbeats, watchOverflow } from '../../../cluster/bus/overflow-heartbeat.ts';
import { overflowShardOf, overflowSubject, messageSubject } from '../../../cluster/bus/subjects.ts';
import { categories } from '../../../model/message.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import { startBus } from '../../support/bus.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const otpOf = (accounts: Record<string, boolean>, node = 'one') => ({
  carrier: 'alpha',
  node,
  lanes: { otp: accounts },
});
const usual = { subject: messageSubject('otp', 'alpha', 'acc_1') };
const overflow = { subject: overflowSubject('otp', 'alpha', 'acc_1') };
const full = { full: true };

function received() {
  const clock = new ManualClock();
  const all = new OverflowHeartbeats(clock);
  return { clock, all, place: () => all.placeOf('otp', 'alpha', 'acc_1') };
}

describe('the shard of an account’s messages', () => {
  test('is the usual one until a flood is published, and again when that ends', () => {
    const { all, place } = received();
    expect(place()).toEqual(usual);
    all.take(otpOf({ acc_1: false }));
    expect(place()).toEqual(overflow);
    all.take(otpOf({ acc_1: true }));
    expect(place()).toEqual(full);
    all.take(otpOf({ acc_2: true }));
    expect(place()).toEqual(usual);
    all.take(otpOf({ acc_1: true }));
    all.take({ carrier: 'alpha', node: 'one', lanes: {} });
    expect(place()).toEqual(usual);
  });
  test('is that of this account, this lane and this carrier only', () => {
    const { all } = received();
    all.take(otpOf({ acc_1: true }));
    for (const category of ['transactional', 'promotional'] as const) {
      expect(all.placeOf(category, 'alpha', 'acc_1')).toEqual({ subject: messageSubject(category, 'alpha', 'acc_1') });
    }
    expect(all.placeOf('otp', 'beta', 'acc_1')).toEqual({ subject: messageSubject('otp', 'beta', 'acc_1') });
    expect(all.placeOf('otp', 'alpha', 'acc_2')).toEqual({ subject: messageSubject('otp', 'alpha', 'acc_2') });
    expect(all.placeOf('otp', 'alpha', 'toString')).toEqual({ subject: messageSubject('otp', 'alpha', 'toString') });
  });
  test('follows any of several nodes; an expired state of one does not count', () => {
    const { all, clock, place } = received();
    const { staleMs, fullStaleMs } = limits.overflow;
    all.take(otpOf({ acc_1: false }, 'two'));
    all.take(otpOf({ acc_1: true }, 'one'));
    expect(place()).toEqual(full);
    clock.advance(fullStaleMs);
    expect(place()).toEqual(full);
    clock.advance(1);
    expect(place()).toEqual(overflow);
    clock.advance(staleMs - fullStaleMs - 1);
    expect(place()).toEqual(overflow);
    clock.advance(1);
    expect(place()).toEqual(usual);
  });
  test('is remembered for a bounded number of carriers and nodes', () => {
    const { all, place } = received();
    const { carriersMax, nodesMax } = limits.heartbeats;
    for (let node = 0; node < nodesMax; node += 1) all.take(otpOf({ acc_1: false }, `node${node}`));
    expect(place()).toEqual(overflow);
    for (let node = 0; node < nodesMax; node += 1) all.take(otpOf({ acc_2: false }, `other${node}`));
    expect(place()).toEqual(usual);
    for (let carrier = 1; carrier <= carriersMax; carrier += 1) {
      all.take({ carrier: `c${carrier}`, node: 'one', lanes: { otp: { acc_1: true } } });
    }
    expect(all.placeOf('otp', `c${carriersMax - 1}`, 'acc_1')).toEqual(full);
    expect(all.placeOf('otp', `c${carriersMax}`, 'acc_1')).toHaveProperty('subject');
  });
});

describe('a heartbeat', () => {
  test('decodes to what was written', () => {
    const accounts = fc.dictionary(fc.string(), fc.boolean());
    const lanes = fc.record({ otp: accounts, txn: accounts, promo: accounts }, { requiredKeys: [] });
    fc.assert(
      fc.property(fc.string(), fc.string(), lanes, (carrier, node, reported) => {
        const text = JSON.stringify({ carrier, node, lanes: reported });
        expect(JSON.stringify(overflowHeartbeats.read(Buffer.from(text)))).toEqual(text);
      }),
    );
  });
  test('that is malformed is ignored', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (octets) => overflowHeartbeats.read(octets) === null));
    for (const text of ['null', '[]', '{}', '{"carrier":"a","node":"b","lanes":{"otp":{"acc_1":1}}}']) {
      expect(overflowHeartbeats.read(Buffer.from(text))).toBeNull();
    }
    expect(overflowHeartbeats.read(Buffer.alloc(limits.overflow.bytesMax + 1, 32))).toBeNull();
  });
  test('with the maximum of accounts fits into one record', () => {
    const accounts = Object.fromEntries(
      Array.from({ length: limits.overflow.accountsMax }, (_, n) => [`acc_01JABCDEFGHJKMNPQRSTV${1_000 + n}`, false]),
    );
    const text = JSON.stringify({
      carrier: 'a'.repeat(32),
      node: 'b'.repeat(12),
      lanes: { otp: accounts, txn: accounts, promo: accounts },
    });
    expect(text.length).toBeLessThan(limits.overflow.bytesMax);
  });
  test('comes from an actor to an entry point', async () => {
    const bus = await startBus();
    const queues = watchOverflow(bus.bus);
    await bus.bus.connection.flush();
    overflowHeartbeats.publish(bus.bus, otpOf({ acc_1: false }));
    await until(
      'it is received',
      () => 'subject' in queues.placeOf('otp', 'alpha', 'acc_1') && queues.placeOf('otp', 'alpha', 'acc_1'),
    );
    await until(
      'it is in overflow',
      () => JSON.stringify(queues.placeOf('otp', 'alpha', 'acc_1')) === JSON.stringify(overflow),
    );
    queues.stop();
    await bus.stop();
  });
});

test('the overflow shard follows from the account alone, is never an account shard, and spreads accounts evenly', () => {
  const counts = new Map<string, number>();
  for (let n = 0; n < 3_200; n += 1) {
    const account = `acc_${n}`;
    const shard = overflowShardOf(account);
    expect(overflowShardOf(account)).toBe(shard);
    counts.set(shard, (counts.get(shard) ?? 0) + 1);
    for (const category of categories) {
      expect(overflowSubject(category, 'alpha', account)).not.toBe(messageSubject(category, 'alpha', account));
    }
  }
  expect(counts.size).toBe(limits.overflow.shards);
  expect(Math.max(...counts.values())).toBeLessThan(160);
});
