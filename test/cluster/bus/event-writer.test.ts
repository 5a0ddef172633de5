// Events are reported durable only when they are, in their order, once, whatever happens to the server meanwhile.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeEvents } from '../../../model/records/event-record.ts';
import { ensureStreams } from '../../../cluster/bus/ensure.ts';
import { EventWriter } from '../../../cluster/bus/event-writer.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { type DeliveryEvent, eventOfMessage } from '../../../model/delivery-event.ts';
import { nextTurn } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestBus, recordsOf, startBus } from '../../support/bus.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { messageWith } from '../../support/messages.ts';

let test_: TestBus;
let publisher: Publisher;
beforeAll(async () => {
  test_ = await startBus();
  publisher = new Publisher(test_.bus, { deadlineMs: Number.POSITIVE_INFINITY });
});
afterAll(async () => {
  publisher.close();
  await test_.stop();
});

const eventsOf = (carrier: string, count: number): DeliveryEvent[] => {
  const message = messageWith({ carrier });
  return Array.from({ length: count }, (_, index) =>
    eventOfMessage(message, { kind: 'deferred', atMs: index, attempt: index, detail: String(index) }),
  );
};
const stored = async (carrier: string) =>
  (await recordsOf(test_.bus, 'EVENTS', `ev.${carrier}.>`)).map((each) => decodeEvents(each.data));

test('events of one message are in the stream in the order they were written, in batches within the bound', async () => {
  const writer = new EventWriter(publisher, { shards: 4 });
  const events = eventsOf('order', 1_000);
  const published: boolean[] = [];
  for (const event of events) writer.write(event, (durable) => published.push(durable));
  expect(published).toEqual([]);
  await until('all durable', () => published.length === events.length);
  expect(published.every(Boolean)).toBe(true);
  const batches = await stored('order');
  expect(batches.flat()).toEqual(events);
  expect(Math.max(...batches.map((each) => each.length))).toBe(limits.events.batchMax);
  expect(writer.inFlight).toBe(0);
});

test('events of one message written while EVENTS is away are stored in their order, and delay no other message', async () => {
  const clock = new ManualClock();
  const own = new Publisher(test_.bus, { deadlineMs: Number.POSITIVE_INFINITY, clock });
  const writer = new EventWriter(own, { clock });
  const [one, two] = eventsOf('ordered', 2);
  const other = eventOfMessage(messageWith({ carrier: 'ordered' }), {
    kind: 'deferred',
    atMs: 0,
    attempt: 0,
    detail: '',
  });
  let durable = 0;
  const write = (event: DeliveryEvent) => writer.write(event, () => (durable += 1), true);
  /** The clock moves on after what was published has been refused. */
  const step = async () => {
    await test_.bus.connection.flush();
    await nextTurn();
    clock.advance(50);
  };
  await test_.bus.manager.streams.delete('EVENTS');
  write(one!);
  await step();
  // A publish that was refused is repeated after 100 ms: the first at 100 and at 200, one of now at 150.
  write(two!);
  write(other);
  await step();
  await test_.bus.connection.flush();
  await ensureStreams(test_.bus);
  await step();
  await until('the other is durable', () => durable > 0);
  expect((await stored('ordered')).flat()).toEqual([other]);
  await step();
  await until('all durable', () => durable === 3);
  expect((await stored('ordered')).flat()).toEqual([other, one, two]);
  expect(writer.inFlight).toBe(0);
  own.close();
});

test('what waits for an event of its message is published with the last flush, and reported when the process stops', async () => {
  const own = new Publisher(test_.bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const writer = new EventWriter(own, { lingerMs: 60_000 });
  const [one, two, three, four] = eventsOf('stops', 4);
  const published: boolean[] = [];
  writer.write(one!, (durable) => published.push(durable), true);
  writer.write(two!, (durable) => published.push(durable));
  writer.flush();
  await own.idle();
  expect(published).toEqual([true, true]);
  writer.write(three!, (durable) => published.push(durable), true);
  writer.write(four!, (durable) => published.push(durable));
  writer.close();
  own.close();
  expect(published).toEqual([true, true, false, false]);
  expect(writer.inFlight).toBe(0);
});

test('an event waits for its batch, an urgent one takes the batch with it at once', async () => {
  const writer = new EventWriter(publisher, { lingerMs: 60_000 });
  const [slow, urgent] = eventsOf('urgent', 2);
  let durable = 0;
  writer.write(slow!, () => (durable += 1));
  await publisher.idle();
  expect(durable).toBe(0);
  writer.write(urgent!, () => (durable += 1), true);
  await until('both durable', () => durable === 2);
  expect(await stored('urgent')).toEqual([[slow, urgent]]);
});

test('flush sends what lingers, close reports what never became durable', async () => {
  const writer = new EventWriter(publisher, { lingerMs: 60_000 });
  const [one, two] = eventsOf('flush', 2);
  const published: boolean[] = [];
  writer.write(one!, (durable) => published.push(durable));
  writer.flush();
  await until('the first is durable', () => published.length === 1);
  writer.write(two!, (durable) => published.push(durable));
  writer.close();
  expect(published).toEqual([true, false]);
  expect(writer.inFlight).toBe(0);
});

test('a batch larger than one record may be is split, in its order, and every event is durable once', async () => {
  const writer = new EventWriter(publisher);
  const events = eventsOf('split', limits.events.batchMax).map((event) => ({ ...event, error: 'x'.repeat(20_000) }));
  const published: boolean[] = [];
  for (const event of events) writer.write(event, (durable) => published.push(durable));
  await until('all durable', () => published.length === events.length);
  expect(published.every(Boolean)).toBe(true);
  const records = await recordsOf(test_.bus, 'EVENTS', 'ev.split.>');
  expect(records.map((each) => decodeEvents(each.data)).flat()).toEqual(events);
  expect(records.length).toBeGreaterThan(1);
  expect(Math.max(...records.map((each) => each.data.length))).toBeLessThanOrEqual(limits.events.batchBytesMax);
});

test('an event too large for any record is shortened, those beside it are whole, and the writer continues', async () => {
  const writer = new EventWriter(publisher);
  const durable: string[] = [];
  const [before, large, after] = eventsOf('oversize', 3);
  const huge = { ...large!, error: 'e'.repeat(3_000_000), carrierMessageId: 'i'.repeat(100) };
  for (const event of [before!, huge, after!]) writer.write(event, (done) => done && durable.push(event.eventId));
  await until('all durable', () => durable.length === 3);
  const published = (await stored('oversize')).flat();
  const short = { ...huge, error: 'e'.repeat(64), carrierMessageId: 'i'.repeat(64) };
  expect(published).toEqual([before, short, after]);
  expect(writer.inFlight).toBe(0);
});

test('hasCapacity is false at its bound and true again below it', async () => {
  const writer = new EventWriter(publisher, { heldMax: 3 });
  const events = eventsOf('room', 3);
  for (const [index, event] of events.entries()) {
    expect(writer.hasCapacity, `before event ${index}`).toBe(true);
    writer.write(event, () => {});
  }
  expect(writer.hasCapacity).toBe(false);
  await until('room again', () => writer.hasCapacity);
});

test('while the server is away events are held, then durable exactly once and in order', async () => {
  const writer = new EventWriter(publisher);
  const events = eventsOf('away', 600);
  let durable = 0;
  await test_.nats.kill9();
  for (const event of events) writer.write(event, (is) => (durable += is ? 1 : 0));
  expect(durable).toBe(0);
  expect(writer.inFlight).toBe(600);
  await test_.nats.restart();
  await until('all durable', () => durable === events.length);
  expect((await stored('away')).flat()).toEqual(events);
});
