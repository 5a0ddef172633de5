// Which messages of one-time passwords an ingress marks to be counted for the carrier that takes them, where their route is
// drawn by conversion: live first ones of POST /v1/otp in which the guard against fraud found nothing. And what it
// publishes of the codes that are entered.
import { afterAll, expect, test } from 'vitest';
import { type GuardObservation, GuardTalk } from '../../../../cluster/bus/otp-guard-talk.ts';
import { changeLists } from '../../../../cluster/bus/otp-guard-bucket.ts';
import { openBucket } from '../../../../cluster/bus/ensure.ts';
import { otpRulesDefault } from '../../../../policy/otp/contract.ts';
import { until } from '../../../support/until.ts';
import { call } from '../harness.ts';
import { freshNumber, openOtpClient } from './otp-client.ts';

const routes = [{ prefix: '+880', classes: ['otp'], carriers: ['alpha', 'beta'], choose: 'conversion' }];
// Numbers in sequence are what the guard looks for; foreign ones are noticed and let pass.
const modes = { ...otpRulesDefault.guard.modes, sequence: 'off', velocity: 'off', destination: 'shadow' } as const;
const otp = { ...otpRulesDefault, guard: { ...otpRulesDefault.guard, modes } };
const client = await openOtpClient(1, {}, { routes, otp });
const { harness, tenant } = client;
const received: GuardObservation[] = [];
new GuardTalk(harness.bus, 'test').listen((observation) => received.push(observation));
await harness.bus.connection.flush();
afterAll(() => harness.stop());

const messageOf = (id: string) =>
  until('its message', async () => (await harness.messages('MT_OTP')).find(({ messageId }) => messageId === id));
const started = async (token: string, body: object = {}) => {
  const { status, body: answer } = await client.start(body, token);
  expect({ status, answer }).toMatchObject({ status: 201 });
  return { id: answer['id'] as string, message: await messageOf(answer['sms_id']) };
};
const codeIn = (message: { readonly body: object }) =>
  /\d{6}/.exec('text' in message.body ? String(message.body.text) : '')?.[0] ?? '';
const verificationOf = (to: string) =>
  until('it is published', () => received.find((each) => each.kind === 'verified' && each.to === to));

test('a live one is marked with the operator of its number, and goes by one of the two carriers', async () => {
  const carriers = new Set<string>();
  for (let nth = 0; nth < 60 && carriers.size < 2; nth += 1) {
    const { message } = await started(tenant.live);
    expect(message.scoredAs).toBe('alpha');
    expect([message.carrier, ...message.plan].toSorted()).toEqual(['alpha', 'beta']);
    expect(message.trace[0]).toMatch(
      /^route \+880, conversion: (drew (0\.\d\d|1\.00)|floor of 2 %), 0 of 0 codes entered$/,
    );
    carriers.add(message.carrier);
  }
  expect(carriers.size).toBe(2);
});

test('what says nothing about its carrier is not marked: test keys, own codes, POST /v1/sms, second messages, what the guard noticed', async () => {
  expect((await started(tenant.test)).message.scoredAs).toBeUndefined();
  expect((await started(tenant.live, { code: '493817' })).message.scoredAs).toBeUndefined();
  const sms = { to: freshNumber(), from: 'HELIO', message: 'Your code is 123456', category: 'otp' };
  const { body } = await call(client.ingress, 'POST', '/v1/sms', tenant.live, sms);
  const ofSms = await messageOf(body['id']);
  expect(ofSms.trace[0]).toContain('conversion: ');
  expect(ofSms.scoredAs).toBeUndefined();
  const { id, message } = await started(tenant.live);
  expect(message.scoredAs).toBe('alpha');
  const resent = await client.resend(id, tenant.live);
  expect((await messageOf(resent.body['sms_id'])).scoredAs).toBeUndefined();
  await changeLists(await openBucket(harness.bus, 'otp_guard'), tenant.accountId, () => ({ destinations: ['+39'] }));
  await until('the guard notices', async () => (await started(tenant.live)).message.scoredAs === undefined);
  await changeLists(await openBucket(harness.bus, 'otp_guard'), tenant.accountId, () => ({ destinations: null }));
  await until('the guard notices nothing', async () => (await started(tenant.live)).message.scoredAs === 'alpha');
});

test('a code that is entered is published with its message, after a second message without, and where no route is drawn without', async () => {
  const first = await started(tenant.live);
  await client.verify(first.id, codeIn(first.message), { token: tenant.live });
  const { messageId, recipient } = first.message;
  expect(await verificationOf(recipient)).toMatchObject({ messageId });
  const second = await started(tenant.live);
  await client.resend(second.id, tenant.live);
  await client.verify(second.id, codeIn(second.message), { token: tenant.live });
  expect(await verificationOf(second.message.recipient)).not.toHaveProperty('messageId');
  client.use(await harness.ingress({}, 1, { routes: [], otp }));
  const third = await started(tenant.live);
  expect(third.message).toMatchObject({ carrier: 'alpha', plan: [] });
  expect(third.message.scoredAs).toBeUndefined();
  await client.verify(third.id, codeIn(third.message), { token: tenant.live });
  expect(await verificationOf(third.message.recipient)).not.toHaveProperty('messageId');
});
