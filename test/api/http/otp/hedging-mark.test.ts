// Which messages of one-time passwords an ingress lets a carrier send twice: live ones of POST /v1/otp with another carrier
// in their plan, as heliograph.yaml says; each OTP with all its messages is in the control group or not.
import { afterAll, expect, test } from 'vitest';
import { otpRulesDefault } from '../../../../policy/otp/contract.ts';
import { call } from '../harness.ts';
import { freshNumber, openOtpClient } from './otp-client.ts';

const routing = { fallback: ['beta'] };
// Many codes that nobody enters are what the guard against fraud looks for.
const modes = Object.fromEntries(Object.keys(otpRulesDefault.guard.modes).map((rule) => [rule, 'off']));
const guard = { ...otpRulesDefault.guard, modes } as typeof otpRulesDefault.guard;
const rules = { ...otpRulesDefault, guard };
const client = await openOtpClient(1, {}, { routing, otp: rules });
const { harness, tenant, start, resend } = client;
afterAll(() => harness.stop());

const messageOf = async (id: string) => (await harness.messages('MT_OTP')).find((each) => each.messageId === id);
const started = async (token: string) => (await start({}, token)).body;

test('a live one with two carriers may be hedged or is of the control group, and its resend like it', async () => {
  const groups = new Set<string | undefined>();
  for (let nth = 0; nth < 120 && groups.size < 2; nth += 1) {
    const { id, sms_id } = await started(tenant.live);
    const first = await messageOf(sms_id);
    expect(first?.plan).toEqual(['beta']);
    groups.add(first?.hedge);
    expect(await resend(id, tenant.live)).toMatchObject({ status: 200 });
    const again = (await harness.messages('MT_OTP')).filter((each) => each.recipient === first?.recipient);
    expect(again.map(({ hedge }) => hedge)).toEqual([first?.hedge, first?.hedge]);
  }
  expect(groups).toEqual(new Set(['control', 'may']));
});

test('under a test key, as POST /v1/sms, and where it is switched off: never', async () => {
  expect((await messageOf((await started(tenant.test))['sms_id']))?.hedge).toBeUndefined();
  const sms = { to: freshNumber(), from: 'HELIO', message: 'Your code is 123456', category: 'otp' };
  const { body } = await call(client.ingress, 'POST', '/v1/sms', tenant.live, sms);
  expect(await messageOf(body['id'])).toMatchObject({ category: 'otp', plan: ['beta'] });
  expect((await messageOf(body['id']))?.hedge).toBeUndefined();
  const otp = { ...rules, hedging: { ...rules.hedging, enabled: false } };
  client.use(await harness.ingress({}, 1, { routing, otp }));
  const { sms_id } = await started(tenant.live);
  expect((await messageOf(sms_id))?.hedge).toBeUndefined();
});
