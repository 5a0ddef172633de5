// The carrier actor on a real nats-server and the real simulator: every message is submitted once and ends in one
// terminal state, counted at the far end and in EVENTS.
import { afterEach, describe, expect, test } from 'vitest';
import { encodeMessage } from '../../../model/records/message-record.ts';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { messageSubject } from '../../../cluster/bus/subjects.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../../platform/deadline.ts';
import { recordsOf } from '../../support/bus.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../../support/carrier-house.ts';
import { eventsOf, statesOf } from '../../support/invariant.ts';
import { messageWith } from '../../support/messages.ts';

let house: CarrierHouse;
afterEach(() => house.stop());

const once = { twice: [], never: [] };

describe('the main job', () => {
  test('1,000 messages of all classes are submitted once and delivered, and nothing is left in the streams', async () => {
    house = await openCarrierHouse();
    await house.actor(carrierWith(house.simulator));
    const sent = [
      ...(await house.send(400, { category: 'promotional' })),
      ...(await house.send(400)),
      ...(await house.send(200, { category: 'otp' })),
    ];
    expect(await house.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 1_000 } });
    for (const stream of ['MT_OTP', 'MT_TXN', 'MT_PROMO', 'LATER', 'DEAD']) {
      await until(`${stream} empty`, async () => (await house.bus.manager.streams.info(stream)).state.messages === 0);
    }
    const state = (await statesOf(house.bus)).get(sent[0]!.messageId);
    expect(state?.history.map((each) => each.status)).toEqual(['accepted', 'submitted', 'delivered']);
  });

  test('a long message goes in parts, and is delivered when all are', async () => {
    house = await openCarrierHouse();
    await house.actor(carrierWith(house.simulator));
    const sent = await house.send(50, { segments: 3 }, (nonce) => `#${nonce}# ${'long '.repeat(80)}`);
    expect(await house.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 50 } });
    expect(house.simulator.stats().submits.total).toBe(150);
    expect(house.simulator.messages().every((each) => each.parts === 3 && each.partsTotal === 3)).toBe(true);
  });

  test('the contract is never exceeded, also by long messages, and nothing is throttled', async () => {
    house = await openCarrierHouse({ accounts: [{ systemId: 'heliograph', password: 'sandbox', tps: 40 }] });
    await house.actor(carrierWith(house.simulator, { tps: 40 }));
    const sent = [
      ...(await house.send(40)),
      ...(await house.send(20, { segments: 3 }, (nonce) => `#${nonce}# ${'long '.repeat(80)}`)),
    ];
    expect(await house.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 60 } });
    const { submits } = house.simulator.stats();
    expect(submits.throttled).toBe(0);
    expect(submits.peakPerS).toBeLessThanOrEqual(40);
  });

  test('an OTP goes before the promotional messages that came first', async () => {
    house = await openCarrierHouse();
    const bulk = await house.send(300, { category: 'promotional' });
    await house.actor(carrierWith(house.simulator, { tps: 100 }));
    await until('bulk is on its way', () => house.simulator.stats().submits.total >= 10);
    const otp = await house.send(1, { category: 'otp' });
    // From when it is in its stream: until then a busy machine lets the bulk go on.
    const before = house.simulator.stats().submits.total;
    await until('the OTP is there', () => house.simulator.nonceCount(otp[0]!.nonce) === 1, { everyMs: 5 });
    expect(house.simulator.stats().submits.total - before).toBeLessThanOrEqual(50);
    expect(await house.settled([...bulk, ...otp])).toMatchObject(once);
  });

  test('a message whose validity has passed is not sent', async () => {
    house = await openCarrierHouse();
    const late = await house.send(5, { validUntilMs: systemClock.nowMs() - 1 });
    await house.actor(carrierWith(house.simulator));
    expect(await house.settled(late)).toMatchObject({ statuses: { expired: 5 } });
    expect(house.simulator.stats().submits.total).toBe(0);
  });
});

describe('refusals', () => {
  test('part 2 of 3 rejected: one rejected status, and what was not written is not', async () => {
    house = await openCarrierHouse();
    house.simulator.setFault('reject-part', { arg: 2 });
    await house.actor(carrierWith(house.simulator));
    const sent = await house.send(10, { segments: 3 }, (nonce) => `#${nonce}# ${'long '.repeat(80)}`);
    expect((await house.settled(sent)).statuses).toEqual({ rejected: 10 });
  });

  test('a long message throttled in the middle sends only the parts that are missing', async () => {
    house = await openCarrierHouse({ response: 'fixed:100' });
    await house.actor(carrierWith(house.simulator));
    house.simulator.setFault('throttle', { limit: 4 });
    const sent = await house.send(4, { segments: 3 }, (nonce) => `#${nonce}# ${'long '.repeat(80)}`);
    expect(await house.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 4 } });
    const { submits } = house.simulator.stats();
    expect(submits.accepted).toBe(12);
  });

  test('throttled, queue full and system error pass: each message goes in the end, once', async () => {
    house = await openCarrierHouse();
    await house.actor(carrierWith(house.simulator, { errors: {} }));
    for (const fault of ['throttle', 'queue-full', 'sys-err'] as const) house.simulator.setFault(fault, { limit: 5 });
    const sent = await house.send(30, { category: 'otp' });
    expect(await house.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 30 } });
  });

  test('a wait that is longer than memory allows goes through LATER and comes back', async () => {
    house = await openCarrierHouse();
    await house.actor(carrierWith(house.simulator));
    house.simulator.setFault('queue-full', { limit: 6 });
    const sent = await house.send(2);
    expect(await house.settled(sent, 20_000)).toMatchObject({ ...once, statuses: { delivered: 2 } });
    expect((await eventsOf(house.bus)).some((each) => each.kind === 'deferred')).toBe(true);
  });

  test('a poison record goes to DEAD with its reason; the healthy ones around it are sent once', async () => {
    house = await openCarrierHouse();
    const before = await house.send(20);
    const subject = messageSubject('transactional', 'alpha', 'acc_x');
    await house.publisher.publishOne(subject, Buffer.from('garbage'), null);
    const otherKey = encodeMessage(messageWith(), bodyCipher(Buffer.alloc(32, 9)));
    await house.publisher.publishOne(subject, otherKey, null);
    const mixed = await house.send(1, { encoding: 'gsm7', body: { text: 'টাকা' } });
    const after = await house.send(20);
    await house.actor(carrierWith(house.simulator));
    expect(await house.settled([...before, ...after])).toMatchObject({ ...once, statuses: { delivered: 40 } });
    expect((await house.settled(mixed)).statuses).toEqual({ failed: 1 });
    const dead = await until('both are in DEAD', async () => {
      const records = await recordsOf(house.bus, 'DEAD');
      return records.length >= 2 && records;
    });
    expect(dead).toHaveLength(2);
    expect(dead[0]!.header('Heliograph-Reason')).toContain('not a readable message record');
    await until('MT_TXN empty', async () => (await house.bus.manager.streams.info('MT_TXN')).state.messages === 0);
  });
});
