// Repeats of starts, resends and guesses under an idempotency key, automatic or the client's own, whose first answer was
// lost: what the first try has done is neither undone nor counted once more. A real ingress and a real nats-server.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { overflowHeartbeats } from '../../../../cluster/bus/overflow-heartbeat.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { cutProxy } from '../../../support/cut-proxy.ts';
import { until } from '../../../support/until.ts';
import { type OtpClient, freshNumber, openOtpClient } from './otp-client.ts';

const client: OtpClient = await openOtpClient(1);
const { harness, ingress, tenant, start, verify, resend, get } = client;
afterAll(() => harness.stop());

type Answer = Awaited<ReturnType<OtpClient['start']>>;

let keys = 0;
/** Good for 20 s. */
const automaticKey = () => ({
  'idempotency-key': `auto_${Math.floor(systemClock.nowMs())}_${String((keys += 1)).padStart(16, '0')}`,
});

describe('a repeat that is refused before it is published', () => {
  /** Repeats `ask` while the queue of its account is said to be full, until it is refused for that. */
  const refusedAsFull = async (accountId: string, ask: () => Promise<Answer>) => {
    const { body } = await until('the queue of the account is full', async () => {
      const lanes = { otp: { [accountId]: true } };
      overflowHeartbeats.publish(harness.bus, { carrier: 'sandbox', node: 'test', lanes });
      await harness.bus.connection.flush();
      const answer = await ask();
      return answer.status !== 200 && answer.status !== 201 && answer;
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
    const { body } = await start({ to, ttl_seconds: 90 });
    const ask = () => resend(body['id'], tenant.test, { 'idempotency-key': `resend ${to}` });
    await killedDuring(ask);
    client.use(await later(91_000));
    expect(await decided(ask)).toMatchObject({ status: 200, body: { status: 'expired' } });
    expect((await messages()).filter(({ recipient }) => recipient === to)).toHaveLength(1);
  });
});
