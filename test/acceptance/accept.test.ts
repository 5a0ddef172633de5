// What acceptance publishes on a real nats-server when its process stood still after it had built the message: another
// process may have taken the request over meanwhile, so the record is marked (republished.ts).
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AcceptParts, acceptMessage } from '../../acceptance/accept.ts';
import { Capacity } from '../../acceptance/capacity.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { watchOverflow } from '../../cluster/bus/overflow-heartbeat.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { isAgain } from '../../cluster/bus/republished.ts';
import { ScheduledShares } from '../../cluster/bus/scheduled-shares.ts';
import { watchStreamSpace } from '../../cluster/bus/stream-space.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { systemClock } from '../../platform/clock.ts';
import { defaultShares } from '../../platform/limits-shares.ts';
import { limits } from '../../platform/limits.ts';
import { SharedBound } from '../../platform/shared-bound.ts';
import { type TestBus, startBus } from '../support/bus.ts';
import { messageWith } from '../support/messages.ts';

let on: TestBus;
let parts: AcceptParts;
/** By which the wall clock is ahead of the time of the messages. */
let aheadMs = 0;
const closing: (() => unknown)[] = [];
beforeAll(async () => {
  on = await startBus();
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs };
  const publisher = new Publisher(on.bus, { deadlineMs: 20_000 });
  const events = new EventWriter(publisher);
  const eventSpace = await watchStreamSpace(on.bus, 'EVENTS', 1, clock, () => {});
  const slots = new SharedBound('publish_slots', { total: 4, perAccount: 4, perAccountUrgent: 4, reserve: 0 });
  const scheduled = new ScheduledShares(on.bus, publisher, defaultShares.scheduled_messages, clock);
  parts = {
    ...{ publisher, events, scheduled, clock, cipher: bodyCipher(Buffer.alloc(32, 1)) },
    queues: watchOverflow(on.bus, clock),
    capacity: new Capacity({ clock: { agrees: true }, eventSpace, events, publisher, slots }),
  };
  closing.push(
    () => events.close(),
    () => publisher.close(),
    () => eventSpace.stop(),
  );
});
afterAll(async () => {
  for (const close of closing) await close();
  await on?.stop();
});

const hourMs = 3_600_000;
test.each([
  ['at once', 'MT_TXN', null, 0, false],
  ['after the duplicate window', 'MT_TXN', null, limits.bus.duplicateWindowMs, true],
  ['of a later time, at once', 'SCHEDULED', hourMs, 0, false],
  ['of a later time, after the duplicate window', 'SCHEDULED', hourMs, limits.bus.duplicateWindowMs, true],
])('a message that is published %s', async (_when, stream, inMs, stillMs, isMarked) => {
  await on.bus.manager.streams.purge(stream);
  aheadMs = 0;
  const nowMs = Math.floor(systemClock.nowMs());
  const message = messageWith({ acceptedAtMs: nowMs, scheduledAtMs: inMs === null ? null : nowMs + inMs });
  aheadMs = stillMs;
  const refused = await new Promise((resolve) => acceptMessage(parts, message, 'urgent', resolve));
  expect(refused).toBeNull();
  const { state } = await on.bus.manager.streams.info(stream);
  expect(state.messages).toBe(1);
  const record = await on.bus.manager.streams.getMessage(stream, { seq: state.last_seq });
  expect(isAgain({ headers: record?.header })).toBe(isMarked);
});
