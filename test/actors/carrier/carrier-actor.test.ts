// The carrier actor on a real nats-server and the real simulator: every message is submitted once and ends in one
// terminal state, counted at the SMSC peer and in EVENTS.
import { afterEach, describe, expect, test } from 'vitest';
import { encodeMessage } from '../../../model/records/message-record.ts';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { messageSubject } from '../../../cluster/bus/subjects.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { recordsOf } from '../../support/bus.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../support/carrier-harness.ts';
import { eventsOf, statesOf } from '../../support/invariant.ts';
import { messageWith } from '../../support/messages.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

const once = { twice: [], never: [] };

describe('the main path', () => {
  test('1,000 messages of all categories are submitted once and delivered, and nothing is left in the streams', async () => {
    harness = await openCarrierHarness();
    await harness.actor(carrierWith(harness.simulator));
    const sent = [
      ...(await harness.send(400, { category: 'promotional' })),
      ...(await harness.send(400)),
      ...(await harness.send(200, { category: 'otp' })),
    ];
    expect(await harness.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 1_000 } });
    for (const stream of ['MT_OTP', 'MT_TXN', 'MT_PROMO', 'LATER', 'DEAD']) {
      await until(`${stream} empty`, async () => (await harness.bus.manager.streams.info(stream)).state.messages === 0);
    }
    const state = (await statesOf(harness.bus)).get(sent[0]!.messageId);
    expect(state?.history.map((each) => each.status)).toEqual(['accepted', 'submitted', 'delivered']);
  });

  test('a long message is sent in segments, and is delivered when all are', async () => {
    harness = await openCarrierHarness();
    await harness.actor(carrierWith(harness.simulator));
    const sent = await harness.send(50, { segments: 3 }, (nonce) => `#${nonce}# ${'long '.repeat(80)}`);
    expect(await harness.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 50 } });
    expect(harness.simulator.stats().submits.total).toBe(150);
    expect(harness.simulator.messages().every((each) => each.parts === 3 && each.partsTotal === 3)).toBe(true);
  });

  test('the contract is never exceeded, also by long messages, and nothing is throttled', async () => {
    harness = await openCarrierHarness({ accounts: [{ systemId: 'heliograph', password: 'sandbox', tps: 40 }] });
    await harness.actor(carrierWith(harness.simulator, { tps: 40 }));
    const sent = [
      ...(await harness.send(40)),
      ...(await harness.send(20, { segments: 3 }, (nonce) => `#${nonce}# ${'long '.repeat(80)}`)),
    ];
    expect(await harness.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 60 } });
    const { submits } = harness.simulator.stats();
    expect(submits.throttled).toBe(0);
    expect(submits.peakPerS).toBeLessThanOrEqual(40);
  });

  test('an OTP is sent before promotional messages that came first', async () => {
    harness = await openCarrierHarness();
    const bulk = await harness.send(300, { category: 'promotional' });
    await harness.actor(carrierWith(harness.simulator, { tps: 100 }));
    await until('bulk is on its way', () => harness.simulator.stats().submits.total >= 10);
    const otp = await harness.send(1, { category: 'otp' });
    // From when it is in its stream: until then a busy machine continues with the bulk.
    const before = harness.simulator.stats().submits.total;
    await until('the OTP is there', () => harness.simulator.nonceCount(otp[0]!.nonce) === 1, { everyMs: 5 });
    expect(harness.simulator.stats().submits.total - before).toBeLessThanOrEqual(50);
    expect(await harness.settled([...bulk, ...otp])).toMatchObject(once);
  });

  test('a message whose validity has passed is not sent', async () => {
    harness = await openCarrierHarness();
    const late = await harness.send(5, { validUntilMs: systemClock.nowMs() - 1 });
    await harness.actor(carrierWith(harness.simulator));
    expect(await harness.settled(late)).toMatchObject({ statuses: { expired: 5 } });
    expect(harness.simulator.stats().submits.total).toBe(0);
  });
});

describe('refusals', () => {
  test('part 2 of 3 rejected: one rejected status, and the unwritten segment stays unwritten', async () => {
    harness = await openCarrierHarness();
    harness.simulator.setFault('reject-part', { arg: 2 });
    await harness.actor(carrierWith(harness.simulator));
    const sent = await harness.send(10, { segments: 3 }, (nonce) => `#${nonce}# ${'long '.repeat(80)}`);
    expect((await harness.settled(sent)).statuses).toEqual({ rejected: 10 });
  });

  test('a long message throttled in the middle sends only the missing segments', async () => {
    harness = await openCarrierHarness({ response: 'fixed:100' });
    await harness.actor(carrierWith(harness.simulator));
    harness.simulator.setFault('throttle', { limit: 4 });
    const sent = await harness.send(4, { segments: 3 }, (nonce) => `#${nonce}# ${'long '.repeat(80)}`);
    expect(await harness.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 4 } });
    const { submits } = harness.simulator.stats();
    expect(submits.accepted).toBe(12);
  });

  test('throttled, queue full and system error are temporary: each message is sent in the end, once', async () => {
    harness = await openCarrierHarness();
    await harness.actor(carrierWith(harness.simulator, { errors: {} }));
    for (const fault of ['throttle', 'queue-full', 'sys-err'] as const) harness.simulator.setFault(fault, { limit: 5 });
    const sent = await harness.send(30, { category: 'otp' });
    expect(await harness.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 30 } });
  });

  test('a wait longer than memory allows goes through LATER and returns', async () => {
    harness = await openCarrierHarness();
    await harness.actor(carrierWith(harness.simulator));
    harness.simulator.setFault('queue-full', { limit: 6 });
    const sent = await harness.send(2);
    expect(await harness.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 2 } });
    expect((await eventsOf(harness.bus)).some((each) => each.kind === 'deferred')).toBe(true);
  });

  test('a poison record goes to DEAD with its reason; the valid ones around it are sent once', async () => {
    harness = await openCarrierHarness();
    const before = await harness.send(20);
    const subject = messageSubject('transactional', 'alpha', 'acc_x');
    await harness.publisher.publishOne(subject, Buffer.from('garbage'), null);
    const otherKey = encodeMessage(messageWith(), bodyCipher(Buffer.alloc(32, 9)));
    await harness.publisher.publishOne(subject, otherKey, null);
    const mixed = await harness.send(1, { encoding: 'gsm7', body: { text: 'টাকা' } });
    const after = await harness.send(20);
    await harness.actor(carrierWith(harness.simulator));
    expect(await harness.settled([...before, ...after])).toMatchObject({ ...once, statuses: { delivered: 40 } });
    expect((await harness.settled(mixed)).statuses).toEqual({ failed: 1 });
    const dead = await until('both are in DEAD', async () => {
      const records = await recordsOf(harness.bus, 'DEAD');
      return records.length >= 2 && records;
    });
    expect(dead).toHaveLength(2);
    expect(dead[0]!.header('Heliograph-Reason')).toContain('not a readable message record');
    await until('MT_TXN empty', async () => (await harness.bus.manager.streams.info('MT_TXN')).state.messages === 0);
  });
});
