// Ids: they decode to what they contain, sort by time, and are equal when they must be.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type AccountId,
  derivedMessageId,
  eventIdOf,
  isAccountId,
  isMessageId,
  newAccountId,
  newMessageId,
  shardOf,
  timeOfMessageId,
} from '../../model/ids.ts';

const timeMs = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const account = 'acc_01JABCDEFGHJKMNPQRSTVWXYZ0' as AccountId;

test('a message id decodes to the millisecond it was made in', () => {
  fc.assert(
    fc.property(timeMs, (ms) => {
      const id = newMessageId(ms);
      expect(isMessageId(id)).toBe(true);
      expect(timeOfMessageId(id)).toBe(ms);
    }),
  );
});

test('the last millisecond of 48 bits has an id, the next one and the one before zero have none', () => {
  expect(timeOfMessageId(newMessageId(2 ** 48 - 1))).toBe(2 ** 48 - 1);
  expect(() => newMessageId(2 ** 48)).toThrow();
  expect(() => newMessageId(-1)).toThrow();
});

test('fractions of a millisecond are truncated', () => {
  expect(timeOfMessageId(newMessageId(1_750_000_000_000.9))).toBe(1_750_000_000_000);
});

test('ids sort as their times do', () => {
  fc.assert(
    fc.property(timeMs, timeMs, (one, other) => {
      fc.pre(one !== other);
      expect(newMessageId(one) < newMessageId(other)).toBe(one < other);
    }),
  );
});

test('fifty thousand ids of one millisecond are all different', () => {
  const ids = new Set(Array.from({ length: 50_000 }, () => newMessageId(1_750_000_000_000)));
  expect(ids.size).toBe(50_000);
});

test('a derived id is the same for the same account, key and time, and for no other', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), timeMs, (key, otherKey, ms) => {
      const id = derivedMessageId(account, key, ms);
      expect(id).toBe(derivedMessageId(account, key, ms));
      expect(isMessageId(id)).toBe(true);
      expect(timeOfMessageId(id)).toBe(ms);
      if (otherKey !== key) expect(derivedMessageId(account, otherKey, ms)).not.toBe(id);
      expect(derivedMessageId(newAccountId(ms), key, ms)).not.toBe(id);
    }),
  );
});

test('a derived id never changes between versions, or a retry would make a second message', () => {
  expect(derivedMessageId(account, 'order-42', 1_750_000_000_000)).toBe('sms_01JXT21Q003XC5EN4S474RBYJA');
});

test('only ids of our own form are taken for ids', () => {
  const id = newMessageId(1);
  for (const wrong of [
    '',
    'sms_',
    id.slice(0, -1),
    `${id}0`,
    id.toLowerCase(),
    id.replace('sms_', 'otp_'),
    `${id}\n`,
  ]) {
    expect(isMessageId(wrong)).toBe(false);
  }
  for (const letter of 'ILOU') expect(isMessageId(id.slice(0, -1) + letter)).toBe(false);
  expect(isAccountId(id)).toBe(false);
  expect(isAccountId(newAccountId(1))).toBe(true);
});

test('an event id is derived from every part of the event and from nothing else', () => {
  const parts = { messageId: 'sms_1', kind: 'submitted', attempt: 1, carrier: 'alpha', segment: 1, detail: '' };
  const id = eventIdOf(parts);
  expect(id).toBe(eventIdOf({ ...parts }));
  expect(id).toMatch(/^evt_[\w-]{22}$/);
  const others = [
    { messageId: 'sms_2' },
    { kind: 'delivered' },
    { attempt: 2 },
    { carrier: 'beta' },
    { segment: 2 },
    { detail: '1' },
  ].map((change) => eventIdOf({ ...parts, ...change }));
  expect(new Set([id, ...others]).size).toBe(7);
});

test('a shard is stable, in range, and accounts spread over the shards', () => {
  const shards = new Map<number, number>();
  for (let count = 0; count < 4_000; count += 1) {
    const text = newAccountId(count);
    const shard = shardOf(text, 8);
    expect(shard).toBe(shardOf(text, 8));
    shards.set(shard, (shards.get(shard) ?? 0) + 1);
  }
  expect([...shards.keys()].sort((one, other) => one - other)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  for (const each of shards.values()) expect(each).toBeGreaterThan(300);
});
