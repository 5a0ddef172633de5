// The guard against fraud at a real ingress with two threads and a real nats-server: what one thread finds is in effect
// in the other, what a person orders as well, and what it refuses is an event with its figures.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  blocksOf,
  changeLists,
  putBlock,
  releaseBlock,
  sweepBlocks,
} from '../../../../cluster/bus/otp-guard-bucket.ts';
import { openBucket } from '../../../../cluster/bus/ensure.ts';
import { GuardTalk } from '../../../../cluster/bus/otp-guard-talk.ts';
import { decodeEvents } from '../../../../model/records/event-record.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { maskNumber } from '../../../../platform/log.ts';
import { recordsOf } from '../../../support/bus.ts';
import { until } from '../../../support/until.ts';
import { type Tenant, call } from '../harness.ts';
import { type OtpClient, openOtpClient } from './otp-client.ts';

const client: OtpClient = await openOtpClient();
const { harness, ingress, verify, resend } = client;
const bucket = await openBucket(harness.bus, 'otp_guard');
const put = (block: Parameters<typeof putBlock>[2]) => putBlock(harness.bus, bucket, block);
afterAll(() => harness.stop());

let tenant: Tenant;
let prefix = '';
let blocks = 0;
beforeAll(async () => {
  tenant = await harness.tenant();
});

/** Numbers of a block that no other test uses. */
function freshBlock(): (lastDigits: number) => string {
  blocks += 1;
  prefix = `+88017${String(3_000 + blocks * 100)}`.slice(0, 10);
  const own = prefix;
  return (lastDigits) => `${own}${String(lastDigits).padStart(4, '0')}`;
}

const start = (to: string, body: object = {}, of: Tenant = tenant, token = of.live) =>
  call(ingress, 'POST', '/v1/otp', token, { to, ...body });
/** The body of the answer says why it is another one. */
async function started(to: string): Promise<void> {
  const { status, body } = await start(to);
  expect({ status, body }).toMatchObject({ status: 201 });
}
/** As often as it takes to have asked both threads. */
const inBothThreads = async (ask: () => Promise<{ status: number; body: Record<string, unknown> }>, code: unknown) => {
  const answers = await Promise.all(Array.from({ length: 12 }, ask));
  return answers.every(({ body }) => body['code'] === code);
};
const refusals = async () =>
  (await recordsOf(harness.bus, 'EVENTS'))
    .flatMap(({ data }) => decodeEvents(data))
    .filter(({ kind }) => kind === 'refused');
const spread = (at: number) => (at * 37) % 10_000;

describe('numbers that follow each other', () => {
  test('are blocked in both threads, for this account only, and a test key is asked nothing', async () => {
    const number = freshBlock();
    for (let at = 0; at < 11; at += 1) await started(number(100 + at));
    await until('both threads refuse', () => inBothThreads(() => start(number(500)), 'otp_blocked'));
    // One refused request in a hundred passes as a probe.
    const { status, body, headers } = await until('a refusal', async () => {
      const answer = await start(number(501));
      return answer.status !== 201 && answer;
    });
    expect({ status, body }).toMatchObject({
      status: 429,
      body: { code: 'otp_blocked', detail: expect.stringContaining(prefix) },
    });
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(500);
    const stored = await blocksOf(harness.bus, tenant.accountId, systemClock.nowMs());
    expect(stored).toMatchObject([{ prefix, rule: 'sequence', statistic: 10, threshold: 10, times: 1, shadow: false }]);
    expect((await start(number(502), {}, tenant, tenant.test)).status).toBe(201);
    const other = await harness.tenant();
    expect((await start(number(503), {}, other)).status).toBe(201);
    await until('the refusal is an event', async () =>
      (await refusals()).some(
        ({ error, recipient }) => error === 'otp_blocked:sequence:10.0:10.0' && recipient.includes('*'),
      ),
    );
  });

  test('are not when their codes are entered', async () => {
    const number = freshBlock();
    let verified = 0;
    const stop = new GuardTalk(harness.bus, 'test').listen(({ kind }) => {
      if (kind === 'verified') verified += 1;
    });
    await harness.bus.connection.flush();
    for (let at = 0; at < 25; at += 1) {
      const { status, body } = await start(number(at));
      expect({ status, body }).toMatchObject({ status: 201 });
      const message = await until('its message', async () =>
        (await harness.messages('MT_OTP')).find(({ messageId }) => messageId === body['sms_id']),
      );
      const code = /\d{6}/.exec('text' in message.body ? message.body.text : '')?.[0] ?? '';
      expect((await verify(body['id'], code, { token: tenant.live })).body).toMatchObject({ valid: true });
      await until('the other thread has received it', () => verified > at);
    }
    stop();
  });
});

describe('many numbers of one block', () => {
  test('need a challenge, which the caller says was passed', async () => {
    const number = freshBlock();
    for (let at = 0; at < 20; at += 1) await started(number(spread(at)));
    // Each time another number: one that waits for its code is not challenged.
    let others = 9_000;
    await until('both threads refuse', () => inBothThreads(() => start(number((others += 1))), 'otp_challenge'));
    const passed = await start(number(9_998), { challenge_passed: true });
    expect({ status: passed.status, body: passed.body }).toMatchObject({ status: 201 });
    // It waits for its code already, and the same code may be sent once more.
    expect((await resend(passed.body['id'], tenant.live)).status).toBe(200);
  });
});

describe('codes of the client’s own', () => {
  test('count as others, also when they are sent again, until they are entered here', async () => {
    const number = freshBlock();
    const own = await harness.tenant({ scopes: ['sms:send', 'otp:custom_code'] });
    const custom = { code: '493817' };
    const ids: unknown[] = [];
    for (let at = 0; at < 10; at += 1) {
      const { status, body } = await start(number(spread(at)), custom, own);
      expect({ status, body }).toMatchObject({ status: 201 });
      ids.push(body['id']);
    }
    for (const id of ids) expect((await resend(String(id), own.live)).status).toBe(200);
    let others = 9_000;
    const ask = () => start(number((others += 1)), custom, own);
    await until('both threads refuse', () => inBothThreads(ask, 'otp_challenge'));
    for (const id of ids.slice(0, 5)) {
      expect((await verify(String(id), custom.code, { token: own.live })).body).toMatchObject({ valid: true });
    }
    await until('it is sent', async () => (await ask()).status === 201);
  });
});

describe('a person', () => {
  const order = {
    rule: 'operator',
    statistic: 0,
    threshold: 0,
    times: 0,
    shadow: false,
    released: null,
    note: '',
  } as const;

  test('blocks and releases any prefix, also for what is sent again', async () => {
    const number = freshBlock();
    const { body } = await start(number(1), { client_reference: 'order 9' });
    const own = prefix.slice(0, -1);
    const place = { accountId: tenant.accountId, prefix: own };
    const fromMs = systemClock.nowMs();
    expect(await put({ ...order, ...place, fromMs, untilMs: fromMs + 600_000 })).toMatchObject(place);
    await until('both threads refuse', () => inBothThreads(() => start(number(2)), 'otp_blocked'));
    expect((await resend(body['id'], tenant.live)).body).toMatchObject({ code: 'otp_blocked' });
    const event = await until('the refused resend is an event', async () =>
      (await refusals()).find(({ clientReference }) => clientReference === 'order 9'),
    );
    const recipient = maskNumber(number(1));
    expect(event).toMatchObject({ error: 'otp_blocked:operator:0.0:0.0', sender: 'HELIO', category: 'otp', recipient });
    // A shorter one does not end it sooner.
    const shorter = { ...order, ...place, fromMs, untilMs: fromMs + 1_000 };
    expect(await put(shorter)).toMatchObject({ untilMs: fromMs + 600_000 });
    expect(await releaseBlock(bucket, place, fromMs + 1)).toMatchObject({ released: 'operator' });
    expect(await releaseBlock(bucket, place, fromMs + 1)).toBeNull();
    await until('it is released', async () => (await start(number(2))).status === 201);
  });

  test('sets destinations and a safe list', async () => {
    const number = freshBlock();
    const own = await harness.tenant();
    await changeLists(bucket, own.accountId, () => ({ destinations: ['+88018'], safeList: [number(7)] }));
    await until('both threads refuse', () => inBothThreads(() => start(number(1), {}, own), 'otp_blocked'));
    expect((await start(number(7), {}, own)).status).toBe(201);
    await changeLists(bucket, own.accountId, () => ({ destinations: null }));
    await until('the list is gone', async () => (await start(number(2), {}, own)).status === 201);
  });
});

test('blocks are forgotten a day after their end, and not before', async () => {
  const { accountId } = await harness.tenant();
  const dayMs = 86_400_000;
  const block = {
    accountId,
    rule: 'conversion',
    statistic: 12,
    threshold: 11.5,
    shadow: false,
    released: null,
    note: '',
  } as const;
  await put({ ...block, prefix: '+8801', times: 1, fromMs: 0, untilMs: 1_000 });
  await put({ ...block, prefix: '+8802', times: 1, fromMs: 0, untilMs: 2_000 });
  await sweepBlocks(harness.bus, 1_000 + dayMs);
  expect(await blocksOf(harness.bus, accountId, 1_001 + dayMs)).toHaveLength(2);
  expect(await sweepBlocks(harness.bus, 1_001 + dayMs)).toBe(1);
  expect(await blocksOf(harness.bus, accountId, 1_001 + dayMs)).toMatchObject([{ prefix: '+8802' }]);
});
