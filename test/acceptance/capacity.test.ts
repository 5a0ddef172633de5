// The one check of capacity: each cause alone refuses with its own code, and bulk work waits for what a single message
// is refused for.
import { expect, test } from 'vitest';
import { Capacity } from '../../acceptance/capacity.ts';
import { laneSubject, waitFilter } from '../../cluster/bus/subjects.ts';
import type { AccountId } from '../../model/ids.ts';
import { SharedBound } from '../../platform/shared-bound.ts';

const message = { accountId: 'acc_1' as AccountId, category: 'transactional', scheduledAtMs: null } as const;

function capacityWith(
  over: {
    agrees?: boolean;
    isFull?: boolean;
    hasCapacity?: boolean;
    busy?: readonly string[];
    perAccount?: number;
  } = {},
) {
  const { agrees = true, isFull = false, hasCapacity = true, busy = [], perAccount = 2 } = over;
  const slots = new SharedBound('publish_slots', { total: 4, perAccount, perAccountUrgent: 2, reserve: 1 });
  const publisher = { hasCapacity: (subject: string) => !busy.includes(subject) };
  const capacity = new Capacity({
    clock: { agrees },
    eventSpace: { isFull },
    events: { hasCapacity },
    publisher,
    slots,
  });
  return { capacity, slots };
}

test('nothing is refused while there is capacity', () => {
  const { capacity } = capacityWith();
  expect([capacity.refuseAll(), capacity.refuseNow(), capacity.refuseMessage(message)]).toEqual([null, null, null]);
  expect(capacity.mustWait(message)).toBe(false);
});

test.each([
  ['a wrong clock', { agrees: false }, 'clock_wrong'],
  ['a full EVENTS', { isFull: true }, 'queue_full'],
] as const)('%s refuses everything', (_name, over, code) => {
  const { capacity } = capacityWith(over);
  for (const refused of [capacity.refuseAll(), capacity.refuseNow(), capacity.refuseMessage(message)]) {
    expect(refused).toMatchObject({ code, retryAfterS: 5 });
  }
  expect(capacity.mustWait(message)).toBe(true);
});

test('events that wait for the bus refuse single messages at once, and make bulk work wait', () => {
  const { capacity } = capacityWith({ hasCapacity: false });
  expect(capacity.refuseAll()).toBeNull();
  expect(capacity.refuseNow()).toMatchObject({ code: 'overloaded', retryAfterS: 1 });
  expect(capacity.refuseMessage(message)).toMatchObject({ code: 'overloaded' });
  expect(capacity.mustWait(message)).toBe(true);
});

test('a busy stream refuses its own messages and no others', () => {
  const { capacity } = capacityWith({ busy: [laneSubject('transactional')] });
  const later = { ...message, scheduledAtMs: 1 };
  expect(capacity.refuseNow()).toBeNull();
  expect(capacity.refuseMessage(message)).toMatchObject({ code: 'overloaded' });
  expect(capacity.refuseMessage({ ...message, category: 'otp' })).toBeNull();
  expect(capacity.refuseMessage(later)).toBeNull();
  expect(capacityWith({ busy: [waitFilter('scheduled')] }).capacity.refuseMessage(later)).toMatchObject({
    code: 'overloaded',
  });
});

test('an account without free publish slots is made to wait or refused, until one is free', () => {
  const { capacity, slots } = capacityWith();
  expect([capacity.take('acc_1', 'ordinary'), capacity.take('acc_1', 'ordinary')]).toEqual([null, null]);
  expect(capacity.mustWait(message)).toBe(true);
  expect(capacity.mustWait({ ...message, accountId: 'acc_2' as AccountId })).toBe(false);
  expect(capacity.take('acc_1', 'ordinary')).toMatchObject({ code: 'account_busy', retryAfterS: 1 });
  // The third place is the last for bulk work: the reserve is for single messages.
  expect(capacity.take('acc_2', 'ordinary')).toBeNull();
  expect(capacity.take('acc_2', 'ordinary')).toMatchObject({ code: 'overloaded' });
  expect(capacity.take('acc_1', 'urgent')).toBeNull();
  capacity.giveBack('acc_1', 'urgent');
  capacity.giveBack('acc_1', 'ordinary');
  expect(capacity.mustWait(message)).toBe(false);
  expect(slots.used).toBe(2);
});
