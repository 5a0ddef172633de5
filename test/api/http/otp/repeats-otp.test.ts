// Repeats of starts, resends and guesses under an idempotency key, automatic or the client's own, whose first answer was
// lost: what the first try has done is neither undone nor counted once more. A real ingress and a real nats-server.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { idOfAutomaticKey } from '../../../../api/http/automatic-key.ts';
import { type GuardObservation, GuardTalk } from '../../../../cluster/bus/otp-guard-talk.ts';
import { overflowHeartbeats } from '../../../../cluster/bus/overflow-heartbeat.ts';
import { messageSubject } from '../../../../cluster/bus/subjects.ts';
import type { AccountId } from '../../../../model/ids.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { accountQueueMaxDefault } from '../../../../platform/limits-lanes.ts';
import { defaultShares } from '../../../../platform/limits-shares.ts';
import { otpLimitsDefault, otpRulesDefault } from '../../../../policy/otp/contract.ts';
import { type CutProxy, cutProxy } from '../../../support/cut-proxy.ts';
import { until } from '../../../support/until.ts';
import { type Ingress, call } from '../harness.ts';
import { type OtpClient, freshNumber, openOtpClient } from './otp-client.ts';

const client: OtpClient = await openOtpClient(1);
const { harness, ingress, tenant, start, verify, resend, get } = client;
afterAll(() => harness.stop());

type Answer = Awaited<ReturnType<OtpClient['start']>>;

let keys = 0;
/** Good for 24 s: its clock is ahead by nearly as much as it may. */
const automaticKey = () => ({
  'idempotency-key': `auto_${Math.floor(systemClock.nowMs()) + 4_000}_${String((keys += 1)).padStart(16, '0')}`,
});

describe('a repeat that is refused before it is published', () => {
  /** Repeats `ask` while the queue of its account is said to be full, until it is refused for that. */
  const refusedAsFull = async (accountId: string, ask: () => Promise<Answer>) => {
    const { body } = await until('the queue of the account is full', async () => {
      const lanes = { otp: { [accountId]: true } };
      overflowHeartbeats.publish(harness.bus, { carrier: 'sandbox', node: 'test', lanes });
      await harness.bus.connection.flush();
      const answer = await ask();
      return answer.body['code'] === 'account_queue_full' && answer;
    });
    return body['code'];
  };

  test('leaves the code of the first try, which was sent', async () => {
    const own = await harness.tenant();
    const headers = automaticKey();
    const { body } = await start({ to: '+8801711111111' }, own.test, headers);
    const repeat = () => start({ to: '+8801711111111' }, own.test, headers);
    expect(await refusedAsFull(own.accountId, repeat)).toBe('account_queue_full');
    expect((await verify(body['id'], body['test_code'], { token: own.test })).body).toMatchObject({ valid: true });
  });

  test('leaves the send of a resend', async () => {
    const own = await harness.tenant();
    const { body } = await start({}, own.test);
    const headers = automaticKey();
    const { body: resent } = await resend(body['id'], own.test, headers);
    expect(await refusedAsFull(own.accountId, () => resend(body['id'], own.test, headers))).toBe('account_queue_full');
    const { sends } = (await get(body['id'], own.test)).body;
    expect(sends).toMatchObject([{ sms_id: body['sms_id'] }, { sms_id: resent['sms_id'] }]);
  });
});

describe('a code that expired while its first try was lost', () => {
  // It says for certain that the message was not published.
  beforeAll(() => harness.analytics());
  afterAll(() => client.use(ingress));
  const messages = () => harness.messages('MT_OTP');
  /** An ingress that dies before it publishes a message, while it runs `ask`. */
  const killedDuring = async (ask: () => Promise<unknown>) => {
    const proxy = await cutProxy(harness.nats.url, { when: 'HPUB mt.', times: 1, what: 'requests' });
    try {
      const doomed = await harness.ingress({ NATS_URL: proxy.url });
      client.use(doomed);
      const lost = ask().catch((error: unknown) => error);
      await until('the publish', proxy.isCut, { everyMs: 1 });
      await doomed.kill9();
      await lost;
    } finally {
      proxy.close();
    }
  };
  /** Once the event store has read so far (503 before, and 409 until the lease of that try ends). */
  const decided = (ask: () => Promise<Answer>) =>
    until('an answer', async () => {
      const answer = await ask();
      return ![503, 409].includes(answer.status) && answer;
    });
  const later = (byMs: number) => harness.ingress({ HELIOGRAPH_OWN_BUS: 'yes', CLOCK_SHIFT_MS: String(byMs) });

  test('is not sent by the repeat, which says that it has expired, also the next time', async () => {
    const to = freshNumber();
    const ask = () => start({ to, ttl_seconds: 30 }, tenant.test, { 'idempotency-key': `start ${to}` });
    await killedDuring(ask);
    client.use(await later(31_000));
    const answer = await decided(ask);
    expect(answer).toMatchObject({ status: 201, body: { status: 'expired', attempts_remaining: 5 } });
    expect((await messages()).filter(({ recipient }) => recipient === to)).toEqual([]);
    const again = await ask();
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toEqual(answer.body);
  });

  test('is not sent again', async () => {
    client.use(ingress);
    const to = freshNumber();
    const { body } = await start({ to, ttl_seconds: 600 });
    const ask = () => resend(body['id'], tenant.test, { 'idempotency-key': `resend ${to}` });
    await killedDuring(ask);
    client.use(await later(601_000));
    expect(await decided(ask)).toMatchObject({ status: 200, body: { status: 'expired' } });
    expect((await messages()).filter(({ recipient }) => recipient === to)).toHaveLength(1);
  });
});

describe('repeats under an automatic key count once', () => {
  const sends = { ...otpLimitsDefault.sends, client_ip: { count: 2, perMs: 3_600_000 } };
  const otp = { ...otpRulesDefault, limits: { ...otpLimitsDefault, sends } };
  const shares = { ...defaultShares, otp_started: { ...defaultShares.otp_started, perAccount: 3 } };
  const clientIp = { client_ip: '203.0.113.7' };
  const received: GuardObservation[] = [];
  let strict: Ingress;
  const strictIngress = (env: Record<string, string> = {}) => {
    const bounds = { queueMessagesMax: 5_000_000, accountQueueMax: accountQueueMaxDefault, drainMsMax: 90_000 };
    const limits = { ...bounds, streamReplicas: 1, streamStoreMbMax: 28_672, shares };
    return harness.ingress(env, 1, { otp, limits });
  };
  beforeAll(async () => {
    new GuardTalk(harness.bus, 'test').listen((observation) => received.push(observation));
    await harness.bus.connection.flush();
    strict = await strictIngress();
  });
  /** As a guard counts them: a message that is reported again is the same one. */
  const observed = (kind: 'sent' | 'resent', to: string) => {
    const all = received.filter((each) => each.kind === kind && each.to === to);
    return new Set(all.map((each, at) => ('messageId' in each ? each.messageId : at))).size;
  };
  const messagesTo = async (to: string) =>
    (await harness.messages('MT_OTP')).filter(({ recipient }) => recipient === to).length;

  test('a start: in the limits, as a record, and for the guard', async () => {
    const { live } = await harness.tenant();
    const [to, other, third] = [freshNumber(), freshNumber(), freshNumber()];
    const ask = (body: object, headers = {}) => call(strict, 'POST', '/v1/otp', live, body, headers);
    const headers = automaticKey();
    for (let tries = 0; tries < 4; tries += 1)
      expect(await ask({ to, ...clientIp }, headers)).toMatchObject({ status: 201 });
    expect(await ask({ to: other, ...clientIp })).toMatchObject({ status: 201 });
    expect((await ask({ to: third, ...clientIp })).body['detail']).toContain('more than 2 sends');
    expect(await ask({ to: third })).toMatchObject({ status: 201 });
    expect((await ask({ to: freshNumber() })).body['detail']).toContain('more than 3 one-time passwords an hour');
    await until('the guards know of the third', () => observed('sent', third) === 1);
    expect([observed('sent', to), observed('sent', other)]).toEqual([1, 1]);
  });

  test('a first start counts although its publish was repeated, because the ack was lost', async () => {
    const { live, accountId } = await harness.tenant();
    const to = freshNumber();
    const headers = automaticKey();
    const key = headers['idempotency-key'];
    const automatic = { sentAtMs: Number(key.split('_')[1]), idempotencyKey: `POST /v1/otp ${key}` };
    const messageId = idOfAutomaticKey(accountId as AccountId, true, automatic);
    // As the stream has it then.
    const { manager, jetstream } = harness.bus;
    const stored = await jetstream.publish(messageSubject('otp', 'alpha', accountId), '', { msgID: `${messageId}.0` });
    await manager.streams.deleteMessage('MT_OTP', stored.seq);
    const { status, body } = await call(strict, 'POST', '/v1/otp', live, { to }, headers);
    expect({ status, body }).toMatchObject({ status: 201, body: { sms_id: messageId } });
    expect((await harness.messages('MT_OTP')).filter(({ recipient }) => recipient === to)).toEqual([]);
    await until('the guards know of it', () => observed('sent', to) === 1);
  });

  test('a resend: in the limits and for the guard', async () => {
    const { live } = await harness.tenant();
    const to = freshNumber();
    const { body } = await call(strict, 'POST', '/v1/otp', live, { to });
    const ask = (headers = {}) => call(strict, 'POST', `/v1/otp/${body['id']}/resend`, live, clientIp, headers);
    const headers = automaticKey();
    for (let tries = 0; tries < 4; tries += 1) expect(await ask(headers)).toMatchObject({ status: 200 });
    expect(await ask()).toMatchObject({ status: 200 });
    expect((await ask()).body['detail']).toContain('more than 2 sends');
    const next = freshNumber();
    await call(strict, 'POST', '/v1/otp', live, { to: next });
    await until('the guards know of the next start', () => observed('sent', next) === 1);
    expect(observed('resent', to)).toBe(2);
  });

  /** Asks for a start, or for a resend of one that another ingress has answered. */
  const asking = async (what: 'start' | 'resend') => {
    const { live } = await harness.tenant();
    const to = freshNumber();
    const headers = automaticKey();
    const id = what === 'start' ? '' : (await call(strict, 'POST', '/v1/otp', live, { to })).body['id'];
    const [path, body] = what === 'start' ? ['/v1/otp', { to, ...clientIp }] : [`/v1/otp/${id}/resend`, clientIp];
    const wanted = what === 'start' ? { sent: 1, resent: 0, messages: 1 } : { sent: 1, resent: 1, messages: 2 };
    return {
      ask: (of: Ingress) => call(of, 'POST', path, live, body, headers),
      /** Of two sends from the address one is left. */
      async expectCounted(at: Ingress) {
        const next = () => call(at, 'POST', '/v1/otp', live, { to: freshNumber(), ...clientIp });
        expect(await next()).toMatchObject({ status: 201 });
        expect((await next()).body['detail']).toContain('more than 2 sends');
        await until('the guards know of it', () => observed(what === 'start' ? 'sent' : 'resent', to) > 0);
        const messages = await messagesTo(to);
        expect({ sent: observed('sent', to), resent: observed('resent', to), messages }).toEqual(wanted);
      },
    };
  };

  /** Until `ask` is over, an ingress whose requests, or whose answers, are cut off when it publishes a message. */
  const cutOff = async (what: 'requests' | 'answers', ask: (cut: Ingress, proxy: CutProxy) => Promise<void>) => {
    const proxy = await cutProxy(harness.nats.url, { when: 'HPUB mt.', times: 1, what });
    try {
      const cut = await strictIngress({ NATS_URL: proxy.url });
      await ask(cut, proxy).finally(() => cut.kill9());
    } finally {
      proxy.close();
    }
  };

  describe.each(['start', 'resend'] as const)('a %s', (what) => {
    test('that the repeat sends, after a first try that nobody could answer', () =>
      cutOff('requests', async (cut, proxy) => {
        const { ask, expectCounted } = await asking(what);
        expect(await ask(cut)).toMatchObject({ status: 503 });
        proxy.mend();
        await until('an answer', async () => (await ask(cut)).status < 300);
        await expectCounted(cut);
      }));

    test('that was sent by a process which was killed before it knew that', () =>
      cutOff('answers', async (killed, proxy) => {
        const { ask, expectCounted } = await asking(what);
        const before = await harness.count('MT_OTP');
        const lost = ask(killed).catch((error: unknown) => error);
        await until('it is sent', async () => proxy.isCut() && (await harness.count('MT_OTP')) > before, {
          everyMs: 1,
        });
        await killed.kill9();
        await lost;
        for (let tries = 0; tries < 3; tries += 1) expect((await ask(strict)).status).toBeLessThan(300);
        await expectCounted(strict);
      }));
  });
});

describe('a wrong guess that is repeated', () => {
  const own = (name: string) => ({ 'idempotency-key': name });
  test('counts once under its key, for its code, its number and the limits in memory; another code under it counts', async () => {
    const guesses = { ...otpLimitsDefault.guesses, device_id: { count: 3, perMs: 3_600_000 } };
    const strict = await harness.ingress({}, 2, {
      otp: { ...otpRulesDefault, limits: { ...otpLimitsDefault, guesses } },
    });
    const { body } = await start({ code: '493817' });
    const guess = (code: string, headers = {}) =>
      call(strict, 'POST', `/v1/otp/${body['id']}/verify`, tenant.test, { code, device_id: 'phone' }, headers);
    const leftOf = async (asked: Promise<Answer>) => (await asked).body['attempts_remaining'];
    const headers = automaticKey();
    for (let tries = 0; tries < 4; tries += 1) expect(await leftOf(guess('000000', headers))).toBe(4);
    expect(await Promise.all([1, 2].map(() => leftOf(guess('000 000', headers))))).toEqual([4, 4]);
    expect(await leftOf(guess('000001', headers))).toBe(3);
    expect(await leftOf(guess('000000', headers))).toBe(3);
    expect(await leftOf(guess('000000'))).toBe(2);
    expect(await guess('000002')).toMatchObject({ status: 429, body: { limit: { dimension: 'device_id' } } });
    expect((await verify(body['id'], '493817', { headers: own('the right one') })).body).toMatchObject({ valid: true });
  });

  test('counts at another code under the same key, also where the client has its own', async () => {
    const [one, other] = [await start({ code: '493817' }), await start({ code: '493817' })];
    for (const headers of [automaticKey(), own('a key for two codes')]) {
      expect((await verify(one.body['id'], '000000', { headers })).body).toMatchObject({ valid: false });
      expect((await verify(other.body['id'], '000000', { headers })).body).toMatchObject({ valid: false });
    }
    expect((await get(one.body['id'])).body).toMatchObject({ attempts_remaining: 3 });
    expect((await get(other.body['id'])).body).toMatchObject({ attempts_remaining: 3 });
  });

  test('counts once under a key of the client’s own when NATS answered the first try too late', async () => {
    const { body } = await start({ code: '493817' });
    const headers = own(`lost ${body['id']}`);
    const proxy = await cutProxy(harness.nats.url, { when: 'HPUB $KV.otp.', times: 1, what: 'answers' });
    try {
      const cut = await harness.ingress({ NATS_URL: proxy.url });
      const guess = () => call(cut, 'POST', `/v1/otp/${body['id']}/verify`, tenant.test, { code: '000000' }, headers);
      expect(await guess()).toMatchObject({ status: 503, body: { code: 'overloaded' } });
      proxy.mend();
      const answer = await until('an answer', async () => {
        const again = await guess();
        return again.status === 200 && again;
      });
      expect(answer.body).toMatchObject({ valid: false, attempts_remaining: 4 });
    } finally {
      proxy.close();
    }
    expect((await get(body['id'])).body).toMatchObject({ attempts_remaining: 4 });
  });
});

test('an automatic key repeats the answer to the right code only, however it is written', async () => {
  const { body } = await start({ code: '493817' });
  const headers = automaticKey();
  expect((await verify(body['id'], '493817', { headers })).body).toMatchObject({ valid: true });
  expect((await verify(body['id'], '493 817', { headers })).body).toMatchObject({ valid: true, status: 'verified' });
  expect(await verify(body['id'], '493818', { headers })).toMatchObject({
    status: 409,
    body: { code: 'otp_already_verified' },
  });
});
