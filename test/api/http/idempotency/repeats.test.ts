// A repeat with the same Idempotency-Key makes one message, whatever is killed in between (faults 1, 2, 7, 10, 41).
// Messages are counted in the queue, ingress processes are killed with SIGKILL at a chosen point of the protocol.
import { hash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { limits } from '../../../../platform/limits.ts';
import { secretBytes } from '../../../../platform/random.ts';
import { encodeEvents } from '../../../../model/records/event-record.ts';
import { eventSubject } from '../../../../cluster/bus/subjects.ts';
import { eventOfMessage } from '../../../../model/delivery-event.ts';
import type { Message } from '../../../../model/message.ts';
import { recordsOf } from '../../../support/bus.ts';
import { type Cut, type CutProxy, cutProxy } from '../../../support/cut-proxy.ts';
import { type Harness, type Ingress, type Tenant, call, goodBody, openHarness, post } from '../harness.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  ingress = await harness.ingress({}, 2);
});
afterAll(async () => harness.stop());
afterEach(async () => {
  await until('the bus', () => harness.bus.manager.streams.purge('MT_TXN').catch(() => null));
});

const send = (key: string, body: unknown = goodBody, to = ingress, token = tenant.live) =>
  post(to, token, body, { 'idempotency-key': key });

/** Retries as a good client would: until the answer is final. */
const sendUntilAccepted = (key: string, body: unknown, to: Ingress) =>
  until(
    'an answer that is final',
    async () => {
      const answer = await send(key, body, to);
      return answer.status === 202 ? answer : false;
    },
    { everyMs: 200 },
  );

test('the same body gets the same answer and makes no second message', async () => {
  const first = await send('same');
  const second = await send('same');
  expect(second.status).toBe(202);
  expect(second.body).toEqual(first.body);
  expect(first.headers.get('idempotent-replayed')).toBeNull();
  expect(second.headers.get('idempotent-replayed')).toBe('true');
  expect(await harness.count()).toBe(1);
});

test('another body is refused with 422', async () => {
  await send('reused');
  const { body } = await send('reused', { ...goodBody, message: 'another text' });
  expect(body).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
  expect(await harness.count()).toBe(1);
});

test('keys of other accounts and of the other mode are other keys', async () => {
  const other = await harness.tenant();
  await until('the directory', async () => (await post(ingress, other.live, '{')).status === 400);
  const answers = [
    await send('shared'),
    await send('shared', goodBody, ingress, tenant.test),
    await send('shared', goodBody, ingress, other.live),
  ];
  expect(new Set(answers.map((answer) => answer.body['id'])).size).toBe(3);
  expect(await harness.count()).toBe(3);
});

test('a refusal by a gate stores nothing: the corrected request may have the same key', async () => {
  expect((await send('corrected', { ...goodBody, to: '+88017' })).status).toBe(422);
  expect((await send('corrected')).status).toBe(202);
});

test('a repeat is answered although the gates would now refuse it', async () => {
  const passing = await harness.tenant();
  const kv = `$KV.directory.account.${passing.accountId}`;
  await until('the directory', async () => (await post(ingress, passing.live, '{')).status === 400);
  const first = await send('replayed', goodBody, ingress, passing.live);
  const entry = { v: 1, accountId: passing.accountId, name: 'Test', status: 'suspended', senders: [] };
  await harness.bus.jetstream.publish(kv, JSON.stringify(entry));
  await until('the suspension', async () => (await send('x', goodBody, ingress, passing.live)).status === 403);
  const second = await send('replayed', goodBody, ingress, passing.live);
  expect(second.body).toEqual(first.body);
  expect(second.headers.get('idempotent-replayed')).toBe('true');
});

test('the key is looked up before the gates: another body that they refuse too is answered that the key was used', async () => {
  const refused = { ...goodBody, to: '+88017' };
  expect((await send('used before', goodBody)).status).toBe(202);
  expect((await send('used before', refused)).body).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
  expect((await send('not used before', refused)).body).toMatchObject({ status: 422, code: 'invalid_recipient' });
});

test('requests that a gate refuses, at once and with one key, are each refused by it and store nothing', async () => {
  const entries = async () => (await harness.bus.manager.streams.info('KV_idempotency')).state.last_seq;
  const before = await entries();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => send('refused at once', { ...goodBody, to: '+88017' })),
  );
  expect(new Set(answers.map(({ body }) => body['code']))).toEqual(new Set(['invalid_recipient']));
  expect(await entries()).toBe(before);
});

test.each([
  ['255 characters', 'k'.repeat(255), 202],
  ['256 characters', 'k'.repeat(256), 422],
  ['a tab', 'a\tb', 422],
  ['letters beyond ASCII', 'é', 422],
])('a key of $0 is answered $2', async (_name, key, status) => {
  expect((await send(key)).status).toBe(status);
});

test('100 concurrent requests with one key, over two threads and two processes, make one message', async () => {
  const second = await harness.ingress();
  for (let round = 0; round < 3; round += 1) {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, at) => send(`storm-${round}`, goodBody, at % 2 === 0 ? ingress : second)),
    );
    expect(await harness.count()).toBe(round + 1);
    const ids = new Set(answers.filter((answer) => answer.status === 202).map((answer) => answer.body['id']));
    expect(ids.size).toBe(1);
    for (const { status } of answers) expect([202, 409]).toContain(status);
    expect((await send(`storm-${round}`)).body['id']).toBe([...ids][0]);
  }
  await second.kill9();
});

test('after a restart of NATS that forgot the consumed id, the record still holds', async () => {
  const first = await send('restarted');
  await until('its answer is stored', async () => {
    return (await send('restarted')).headers.get('idempotent-replayed') === 'true';
  });
  await harness.bus.manager.streams.purge('MT_TXN');
  await harness.nats.restart();
  const again = await sendUntilAccepted('restarted', goodBody, ingress);
  expect(again.body['id']).toBe(first.body['id']);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  const counted = await until('the bus', () => harness.count().then(String, () => null));
  expect(counted).toBe('0');
});

test('kill -9 of nats-server under load: every request ends accepted once, and none is missing', async () => {
  const keys = Array.from({ length: 300 }, (_, at) => `outage-${at}`);
  const accepted = Promise.all(keys.map((key) => sendUntilAccepted(key, { ...goodBody, message: key }, ingress)));
  await until('the load', async () => (await harness.count()) > 0, { everyMs: 1 });
  await harness.nats.kill9();
  await harness.nats.restart();
  const ids = (await accepted).map((answer) => answer.body['id'] as string);
  const messages = await until('the bus', () => harness.messages().catch(() => null));
  expect(new Set(ids).size).toBe(keys.length);
  expect(messages.map((message) => message.messageId).sort()).toEqual([...ids].sort());
});

describe('kill -9 of the ingress', () => {
  // One request writes: the record (running), the message, the record (done).
  const record = 'HPUB $KV.idempotency.';
  const message = 'HPUB mt.';
  const cuts: [name: string, cut: Cut, messagesAtTheKill: number][] = [
    ['before the record is stored', { when: record, times: 1, what: 'requests' }, 0],
    ['when the record is stored, its ack lost', { when: record, times: 1, what: 'answers' }, 0],
    ['before the message is published', { when: message, times: 1, what: 'requests' }, 0],
    ['when the message is published, its ack lost', { when: message, times: 1, what: 'answers' }, 1],
    ['before the answer is stored', { when: record, times: 2, what: 'requests' }, 1],
    ['when the answer is stored, its ack lost', { when: record, times: 2, what: 'answers' }, 1],
  ];

  test('at any point: no 2xx was sent, and the retry with the same key makes one message', async () => {
    const proxies: CutProxy[] = [];
    const kill = async ([name, cut]: (typeof cuts)[number]) => {
      const proxy = await cutProxy(harness.nats.url, cut);
      proxies.push(proxy);
      const doomed = await harness.ingress({ NATS_URL: proxy.url });
      const answer = send(name, { ...goodBody, message: name }, doomed).then(
        ({ status }) => status,
        () => 'no answer',
      );
      await until('the cut', proxy.isCut, { everyMs: 1 });
      await doomed.kill9();
      return answer;
    };
    const answers = [];
    for (const each of cuts) answers.push(await kill(each));
    expect(answers).toEqual(cuts.map(() => 'no answer'));
    await until(
      'what was published',
      async () => (await harness.count().catch(() => -1)) === cuts.filter(([, , sent]) => sent === 1).length,
    );

    const retried = await Promise.all(
      cuts.map(([name]) => sendUntilAccepted(name, { ...goodBody, message: name }, ingress)),
    );
    const messages = await harness.messages();
    expect(messages.map((each) => ('text' in each.body ? each.body.text : '')).sort()).toEqual(
      cuts.map(([name]) => name).sort(),
    );
    expect(messages.map((each) => each.messageId as string).sort()).toEqual(
      retried.map((answer) => answer.body['id'] as string).sort(),
    );
    for (const proxy of proxies) proxy.close();
  });

  test('without a key and before the ack there was no 2xx either', async () => {
    const proxy = await cutProxy(harness.nats.url, { when: message, times: 1, what: 'answers' });
    const doomed = await harness.ingress({ NATS_URL: proxy.url });
    const answer = post(doomed, tenant.live, goodBody).then(
      ({ status }) => status,
      () => 'no answer',
    );
    await until('the cut', proxy.isCut, { everyMs: 1 });
    await doomed.kill9();
    expect(await answer).toBe('no answer');
    // Otherwise the next test finds it.
    await until('what was published', async () => (await harness.count()) === 1);
    proxy.close();
  });
});

test.each([
  // Where the event store is late, the stream stores a record that its carrier asks about: none that would be sent.
  ['within the duplicate window', {}, { withRepublished: false }],
  [
    'after it',
    { HELIOGRAPH_OWN_BUS: 'yes', CLOCK_SHIFT_MS: String(2 * limits.bus.duplicateWindowMs) },
    { withRepublished: true },
  ],
])(
  'killed after the publish, the message consumed, NATS restarted: the retry %s finds it by its id',
  async (when, env, counted) => {
    const key = `consumed, ${when}`;
    const analytics = await harness.analytics();
    const proxy = await cutProxy(harness.nats.url, { when: 'HPUB mt.', times: 1, what: 'answers' });
    const doomed = await harness.ingress({ NATS_URL: proxy.url });
    const lost = send(key, goodBody, doomed).catch((error: unknown) => String(error));
    const [message] = await until('the message', async () => {
      const found = await harness.messages();
      return found.length > 0 ? found : null;
    });
    await doomed.kill9();
    await lost;
    proxy.close();
    // What the carrier actor does with a record: an intent, which also says that it was accepted, and the ack.
    const intent = eventOfMessage(message as Message, {
      kind: 'intent',
      atMs: 1_700_000_000_000,
      attempt: 1,
      segment: 1,
    });
    await harness.bus.jetstream.publish(eventSubject('alpha', 0), encodeEvents([intent]));
    await harness.bus.manager.streams.purge('MT_TXN');
    await harness.nats.restart();

    const other = await harness.ingress(env);
    const retried = await sendUntilAccepted(key, goodBody, other);
    expect(retried.body['id']).toBe(message?.messageId);
    expect(await until('the bus', () => harness.messages('MT_TXN', counted).catch(() => null))).toEqual([]);
    await other.kill9();
    await analytics.stop();
  },
);

describe('a key of a client library, auto_<ms>_<random>', () => {
  const random = () => secretBytes(12).toString('hex');
  const automatic = (sentAtMs = systemClock.nowMs()) => `auto_${Math.floor(sentAtMs)}_${random()}`;
  const entries = async () => (await harness.bus.manager.streams.info('KV_idempotency')).state.messages;

  test('makes one message of many tries, and stores nothing', async () => {
    const before = await entries();
    const key = automatic();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(key)));
    answers.push(await send(key));
    expect(new Set(answers.map(({ status, body }) => `${status} ${String(body['id'])}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(202);
    expect(await harness.count()).toBe(1);
    expect(await entries()).toBe(before);
    const other = await send(key, goodBody, ingress, tenant.test);
    expect(other.body['id']).not.toBe(answers[0]?.body['id']);
  });

  test('makes one message of two tries over kill -9 of the ingress between them', async () => {
    const proxy = await cutProxy(harness.nats.url, { when: 'HPUB mt.', times: 1, what: 'answers' });
    const doomed = await harness.ingress({ NATS_URL: proxy.url });
    // Valid for twenty seconds.
    const key = automatic();
    const lost = send(key, goodBody, doomed).then(
      ({ status }) => status,
      () => 'no answer',
    );
    await until('what was published', async () => (await harness.count()) === 1);
    await doomed.kill9();
    expect(await lost).toBe('no answer');
    proxy.close();
    expect((await send(key)).status).toBe(202);
    expect(await harness.count()).toBe(1);
  });

  test('makes the messages of a batch once', async () => {
    const key = automatic();
    const batch = { messages: [goodBody, { ...goodBody, message: 'another' }, { to: 'x' }] };
    const ask = () =>
      call(ingress, 'POST', '/v1/sms/batch', tenant.live, batch, { 'idempotency-key': key }).then(({ body }) => body);
    const [first, second] = [await ask(), await ask()];
    expect(first).toMatchObject({ accepted: 2, rejected: 1 });
    expect(second).toEqual(first);
    expect(await harness.count()).toBe(2);
  });

  test.each([
    ['whose time is 30 s ago', () => automatic(systemClock.nowMs() - 30_000)],
    ['whose time is 10 s ahead', () => automatic(systemClock.nowMs() + 10_000)],
    ['without a time', () => `auto_${random()}`],
    ['with too little chance', () => `auto_${Math.floor(systemClock.nowMs())}_short`],
  ])('is refused %s, with the server’s time', async (_name, keyOf) => {
    const { status, body } = await send(keyOf());
    expect([status, body['code']]).toEqual([422, 'invalid_field']);
    expect(body['errors'][0]).toMatchObject({ field: 'Idempotency-Key' });
  });
});

test('a key without the scope to send gets no stored answer of another', async () => {
  expect((await send('scoped')).status).toBe(202);
  const reader = await harness.key(tenant, ['sms:read']);
  await until('the key', async () => (await post(ingress, reader, '{')).status !== 401);
  const { status, body } = await send('scoped', goodBody, ingress, reader);
  expect([status, body['code']]).toEqual([403, 'scope_missing']);
});

test('what is stored holds no number, no text and no plain hash of the body', async () => {
  const body = { ...goodBody, client_reference: 'order-4711' };
  expect((await send('sealed', body)).status).toBe(202);
  const batch = { messages: [body, { ...body, to: '+880171' }] };
  await call(ingress, 'POST', '/v1/sms/batch', tenant.live, batch, { 'idempotency-key': 'sealed-batch' });
  const plain = hash('sha256', JSON.stringify(body), 'buffer').subarray(0, 16).toString('latin1');
  const stored = (await recordsOf(harness.bus, 'KV_idempotency')).map(({ data }) =>
    Buffer.from(data).toString('latin1'),
  );
  expect(stored.length).toBeGreaterThan(1);
  for (const secret of ['1712345678', '880171', 'Your code', 'order-4711', plain]) {
    expect(stored.filter((each) => each.includes(secret))).toEqual([]);
  }
});
