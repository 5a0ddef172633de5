// One account floods a lane: its excess is moved to overflow, so that the others of its account shard continue, and
// nothing of it is lost, doubled or much out of order, whatever is killed meanwhile.
import { headers } from '@nats-io/transport-node';
import { afterEach, describe, expect, test } from 'vitest';
import { type GetMessageReply, querySubjects } from '../../../../analytics/contract.ts';
import { bodyCipher } from '../../../../model/records/body-cipher.ts';
import { ensureConsumer } from '../../../../cluster/bus/ensure.ts';
import { encodeMessage } from '../../../../model/records/message-record.ts';
import { messageConsumer, messageConsumerName } from '../../../../cluster/bus/streams.ts';
import { overflowSubject, messageSubject } from '../../../../cluster/bus/subjects.ts';
import { type AccountId, newMessageId } from '../../../../model/ids.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { ignoring } from '../../../../platform/errors.ts';
import { newAccountInShard } from '../../../support/account-in-shard.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { bodyKey } from '../../../support/host-process.ts';
import { type SentMessage, eventsOf, silentlyLost } from '../../../support/invariant.ts';
import { messageWith } from '../../../support/messages.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

const shard = 1;
const account = () => newAccountInShard(shard);
const bind = { window: 5, count: 1 };

/** How many records wait in a stream, by subject. */
async function waiting(stream: string): Promise<Readonly<Record<string, number>>> {
  // A server that was just killed does not answer at once.
  const info = await until('the stream answers', () =>
    harness.bus.manager.streams.info(stream, { subjects_filter: '>' }).catch((error: unknown) => {
      ignoring(error, 'it is asked again');
      return null;
    }),
  );
  return info.state.subjects ?? {};
}

/** How much of an account's OTP is moved to overflow. */
const overflowOf = async (accountId: AccountId) =>
  (await waiting('MT_OTP'))[overflowSubject('otp', 'alpha', accountId)] ?? 0;

test('an OTP of another account of the same shard is sent before the backlog of one that came first', async () => {
  harness = await openCarrierHarness();
  const flood = await harness.send(1_000, { category: 'otp', accountId: account() });
  const other = await harness.send(1, { category: 'otp', accountId: account() });
  await harness.actor(carrierWith(harness.simulator, { tps: 300, bind }));
  await until('the other is there', () => harness.simulator.nonceCount(other[0]!.nonce) === 1, { everyMs: 5 });
  expect(harness.simulator.stats().submits.total).toBeLessThan(500);
  expect(await harness.settled([...flood, ...other])).toMatchObject({ twice: [], never: [] });
});

test('the messages of the account itself are sent nearly in the order of arrival', async () => {
  harness = await openCarrierHarness();
  const accountId = account();
  // One after the other, so that their order is known.
  const flood: SentMessage[] = [];
  for (let n = 0; n < 12; n += 1) flood.push(...(await harness.send(50, { category: 'otp', accountId })));
  await harness.actor(carrierWith(harness.simulator, { tps: 400, bind }));
  await harness.settled(flood);
  expect((await waiting('MT_OTP'))[overflowSubject('otp', 'alpha', accountId)]).toBeUndefined();
  const places = new Map(flood.map(({ nonce }, at) => [`hello #${nonce}#`, Math.floor(at / 50)]));
  const order = harness.simulator.messages().map(({ text }) => places.get(text)!);
  expect(order).toHaveLength(600);
  // Fifties arrive one after the other: at most messages of the next but one overtake.
  let furthest = 0;
  for (const place of order) {
    expect(furthest - place).toBeLessThanOrEqual(2);
    furthest = Math.max(furthest, place);
  }
});

test('in the lower lanes, too, another account does not wait for the end of a backlog', async () => {
  harness = await openCarrierHarness();
  const flood = await harness.send(1_000, { category: 'promotional', accountId: account() });
  const other = await harness.send(1, { category: 'promotional', accountId: account() });
  await harness.actor(carrierWith(harness.simulator, { tps: 300, bind }));
  await until('the other is there', () => harness.simulator.nonceCount(other[0]!.nonce) === 1, { everyMs: 5 });
  expect(harness.simulator.stats().submits.total).toBeLessThan(500);
  expect(await harness.settled([...flood, ...other])).toMatchObject({ twice: [], never: [] });
});

test('what an earlier incarnation left in overflow is found at the start', async () => {
  harness = await openCarrierHarness();
  const accountId = account();
  const flood = await harness.send(400, { category: 'otp', accountId });
  // A carrier that cannot be reached: everything waits.
  const away = await harness.actor(carrierWith({ port: 1 }, { bind }));
  await until('most is in overflow', async () => (await overflowOf(accountId)) > 200);
  await away.drain();
  await harness.actor(carrierWith(harness.simulator, { tps: 500, bind }));
  expect(await harness.settled(flood)).toMatchObject({ twice: [], never: [], statuses: { delivered: 400 } });
});

test('redelivered records are looked up together: hundreds of them cost the server a few queries', async () => {
  harness = await openCarrierHarness();
  const sent: SentMessage[] = [];
  for (let n = 0; n < 50; n += 1) sent.push(...(await harness.send(6, { category: 'otp', accountId: account() })));
  const wide = { window: 200, count: 1 };
  // An unreachable carrier: all of them are taken, and given back.
  const away = await harness.actor(carrierWith({ port: 1 }, { bind: wide }));
  await until('all are held', () => away.actor.status.inFlight === sent.length);
  await away.drain();
  let questions = 0;
  const looking = harness.bus.connection.subscribe('$JS.API.STREAM.INFO.MT_OTP', {
    callback: () => void (questions += 1),
  });
  await harness.bus.connection.flush();
  await harness.actor(carrierWith(harness.simulator, { tps: 2_000, bind: wide }));
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: sent.length } });
  looking.unsubscribe();
  expect(questions).toBeGreaterThan(0);
  expect(questions).toBeLessThan(40);
});

test('kill -9 three times while a flood is moved to overflow: nothing is lost and nothing is sent twice', async () => {
  harness = await openCarrierHarness({ response: 'fixed:5' });
  // On a busy machine a new host may come so late that moved records are moved again, and are looked up.
  await harness.eventStore();
  const carrier = carrierWith(harness.simulator, { tps: 400, bind });
  const accountId = account();
  const sent: SentMessage[] = [];
  for (let kill = 0; kill < 3; kill += 1) {
    const child = await harness.host([carrier]);
    const before = await overflowOf(accountId);
    const flood = harness.send(600, { category: 'otp', accountId });
    await until('it is being moved to overflow', async () => (await overflowOf(accountId)) > before + 20, {
      everyMs: 1,
    });
    await child.kill9();
    sent.push(...(await flood));
  }
  await harness.host([carrier]);
  const settled = await harness.settled(sent);
  expect(settled.twice).toEqual([]);
  expect(await silentlyLost(harness.bus, sent, settled)).toEqual([]);
  expect(settled.statuses['unknown'] ?? 0).toBeLessThanOrEqual(3 * 2 * bind.window);
});

test('kill -9 of nats-server, twice, while a flood is moved to overflow: nothing is lost and nothing is sent twice', async () => {
  harness = await openCarrierHarness({ response: 'fixed:5' });
  await harness.eventStore();
  const accountId = account();
  await harness.actor(carrierWith(harness.simulator, { tps: 300, bind }));
  const sent: SentMessage[] = [];
  let before = 0;
  for (let kill = 0; kill < 2; kill += 1) {
    const flood = harness.send(700, { category: 'otp', accountId });
    await until('it is being moved to overflow', async () => (await overflowOf(accountId)) > before + 20, {
      everyMs: 1,
    });
    await harness.nats.kill9();
    await harness.nats.restart();
    sent.push(...(await flood));
    before = await overflowOf(accountId);
  }
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 1_400 } });
});

test('a thread that stalls for longer than ack_wait while a flood is moved to overflow: nothing is lost and nothing is sent twice', async () => {
  harness = await openCarrierHarness({ response: 'fixed:5' });
  await harness.eventStore();
  const accountId = account();
  // The answers that are in the socket after a stall are in time.
  const child = await harness.host([carrierWith(harness.simulator, { tps: 300, bind, responseTimerMs: 20_000 })]);
  const sent: SentMessage[] = [];
  for (let stall = 0; stall < 2; stall += 1) {
    const before = await overflowOf(accountId);
    const flood = harness.send(800, { category: 'otp', accountId });
    await until('it is being moved to overflow', async () => (await overflowOf(accountId)) > before + 20, {
      everyMs: 1,
    });
    child.stallThread(0, 3_000);
    sent.push(...(await flood));
  }
  const settled = await harness.settled(sent);
  expect(settled).toMatchObject({ twice: [], never: [], statuses: { delivered: 1_600 } });
});

describe('a record whose move an earlier incarnation may have begun', () => {
  const cipher = bodyCipher(bodyKey);
  const otp = (accountId: AccountId, nonce: string) =>
    messageWith({
      messageId: newMessageId(systemClock.nowMs()),
      accountId,
      category: 'otp',
      body: { text: `hello #${nonce}#` },
    });
  const put = async (subject: string, message: ReturnType<typeof otp>, id: string, marked = false) => {
    const all = headers();
    all.set('Nats-Msg-Id', id);
    if (marked) all.set('Heliograph-Again', '1');
    await harness.bus.jetstream.publish(subject, encodeMessage(message, cipher), { headers: all });
  };
  /** Delivered to a consumer that is gone. */
  async function deliverOnce(count: number): Promise<void> {
    await ensureConsumer(harness.bus.manager, 'MT_OTP', messageConsumer('otp', 'alpha', shard, 100));
    const consumer = await harness.bus.jetstream.consumers.get('MT_OTP', messageConsumerName('otp', 'alpha', shard));
    let seen = 0;
    for await (const record of await consumer.fetch({ max_messages: count })) if (record.seq > 0) seen += 1;
    expect(seen).toBe(count);
  }
  const answerWith = (reply: GetMessageReply) => {
    let asked = 0;
    harness.bus.connection.subscribe(querySubjects.get, {
      callback: (_error, question) => {
        asked += 1;
        question.respond(JSON.stringify(reply));
      },
    });
    return () => asked;
  };
  const found = (status: 'accepted' | 'submitted' | 'delivered') =>
    ({
      result: 'found',
      message: {
        status,
        submittedAtMs: status === 'accepted' ? null : 1,
        history: [{ status, carrier: 'alpha', atMs: 1, error: null }],
      },
    }) as unknown as GetMessageReply;
  const empty = async () => (await harness.bus.manager.streams.info('MT_OTP')).state.messages === 0;

  test('and whose copy waits is sent once, by its copy', async () => {
    harness = await openCarrierHarness();
    const asked = answerWith({ result: 'none', recordedTo: 0 });
    const accountId = account();
    const messages = Array.from({ length: 20 }, (_, n) => otp(accountId, `a${n}`));
    for (const message of messages) {
      await put(messageSubject('otp', 'alpha', accountId), message, `${message.messageId}.0`);
      await put(overflowSubject('otp', 'alpha', accountId), message, `${message.messageId}.to overflow`);
    }
    await deliverOnce(20);
    await harness.actor(carrierWith(harness.simulator, { tps: 200 }));
    await until('nothing waits', empty);
    for (let n = 0; n < 20; n += 1) expect(harness.simulator.nonceCount(`a${n}`)).toBe(1);
    expect(asked()).toBe(0);
  });

  test('and whose copy waits under an id the stream has forgotten is sent once all the same', async () => {
    harness = await openCarrierHarness();
    answerWith({ result: 'none', recordedTo: 0 });
    const accountId = account();
    const messages = Array.from({ length: 20 }, (_, n) => otp(accountId, `b${n}`));
    for (const message of messages) {
      await put(messageSubject('otp', 'alpha', accountId), message, `${message.messageId}.0`);
      await put(overflowSubject('otp', 'alpha', accountId), message, `${message.messageId}.forgotten`);
    }
    await deliverOnce(20);
    await harness.actor(carrierWith(harness.simulator, { tps: 200 }));
    await until('nothing waits', empty);
    for (let n = 0; n < 20; n += 1) expect(harness.simulator.nonceCount(`b${n}`)).toBe(1);
  });

  test('and of which no copy waits stays where it is and is sent', async () => {
    harness = await openCarrierHarness();
    const asked = answerWith({ result: 'none', recordedTo: 0 });
    const accountId = account();
    for (let n = 0; n < 20; n += 1) {
      const message = otp(accountId, `c${n}`);
      await put(messageSubject('otp', 'alpha', accountId), message, `${message.messageId}.0`);
    }
    await deliverOnce(20);
    await harness.actor(carrierWith(harness.simulator, { tps: 200 }));
    await until('nothing waits', empty);
    for (let n = 0; n < 20; n += 1) expect(harness.simulator.nonceCount(`c${n}`)).toBe(1);
    expect(asked()).toBe(0);
  });

  test.each([
    ['not begun', { result: 'none' as const, recordedTo: 0 }, 1],
    ['begun', found('submitted'), 0],
  ])('when no process served the carrier for long it is asked about: %s', async (_what, reply, sentTimes) => {
    harness = await openCarrierHarness();
    const asked = answerWith(reply);
    const accountId = account();
    const message = otp(accountId, 'left');
    await put(messageSubject('otp', 'alpha', accountId), message, `${message.messageId}.0`);
    // So many that some still wait when the record is redelivered after ack_wait.
    const before = Array.from({ length: 200 }, (_, n) => otp(accountId, `waits${n}`));
    for (const each of before) await put(overflowSubject('otp', 'alpha', accountId), each, `${each.messageId}.0`);
    await deliverOnce(1);
    const minuteMs = 60_000;
    await harness.actor(carrierWith(harness.simulator, { tps: 50 }), {
      ...systemClock,
      nowMs: () => systemClock.nowMs() + minuteMs,
    });
    await until('nothing waits', empty);
    for (let n = 0; n < before.length; n += 1) expect(harness.simulator.nonceCount(`waits${n}`)).toBe(1);
    expect(harness.simulator.nonceCount('left')).toBe(sentTimes);
    expect(asked()).toBe(1);
  });

  test.each([
    ['begun by its first copy', found('submitted'), 0],
    ['ended', found('delivered'), 0],
    ['accepted and no more', found('accepted'), 1],
    ['not known at all', { result: 'none' as const, recordedTo: 0 }, 1],
  ])('a second copy is asked about: when its message is %s', async (_what, reply, sentTimes) => {
    harness = await openCarrierHarness();
    const asked = answerWith(reply);
    const accountId = account();
    const message = otp(accountId, 'again');
    await put(overflowSubject('otp', 'alpha', accountId), message, `${message.messageId}.to overflow`, true);
    await harness.actor(carrierWith(harness.simulator));
    await until('nothing waits', empty);
    expect(harness.simulator.nonceCount('again')).toBe(sentTimes);
    expect(asked()).toBe(1);
    expect((await eventsOf(harness.bus)).filter(({ kind }) => kind === 'intent')).toHaveLength(sentTimes);
  });

  test('a second copy waits while the event store is down, and nothing else does', async () => {
    harness = await openCarrierHarness();
    const accountId = account();
    const message = otp(accountId, 'later');
    await put(overflowSubject('otp', 'alpha', accountId), message, `${message.messageId}.to overflow`, true);
    const others = await harness.send(20, { category: 'otp', accountId });
    await harness.actor(carrierWith(harness.simulator));
    await harness.settled(others);
    expect(harness.simulator.nonceCount('later')).toBe(0);
    answerWith({ result: 'none', recordedTo: 0 });
    await until('it is sent', () => harness.simulator.nonceCount('later') === 1);
  });
});
