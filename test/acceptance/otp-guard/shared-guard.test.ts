// Two guards, as of two nodes, on a real nats-server: what one sees, the other counts; what a carrier's actor knows of
// receipts comes to both; settings change while they run.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SharedGuard } from '../../../acceptance/otp-guard/shared-guard.ts';
import { OtpReceipts } from '../../../actors/carrier/receipts/otp-receipts.ts';
import { type GuardObservation, GuardTalk } from '../../../cluster/bus/otp-guard-talk.ts';
import { otpGuardSubject } from '../../../cluster/bus/subjects.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { newAccountId } from '../../../model/ids.ts';
import { systemClock } from '../../../platform/clock.ts';
import { guardModesDefault } from '../../../policy/otp/contract.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { until } from '../../support/until.ts';

const rules = { modes: guardModesDefault, destinations: ['+880'], safeList: [] };
const patient = { everyMs: 10 };
let harness: TestBus;
let one: SharedGuard;
let two: SharedGuard;
beforeAll(async () => {
  harness = await startBus();
  const open = () => SharedGuard.open({ bus: harness.bus, clock: systemClock, rules, random: { unit: () => 0.5 } });
  [one, two] = await Promise.all([open(), open()]);
});
afterAll(async () => {
  await Promise.all([one?.stop(), two?.stop()]);
  await harness?.stop();
});

let accounts = 0;
const freshAccount = () => newAccountId(1_700_000_000_000 + (accounts += 1));
const numberOf = (at: number) => `+88017120${String((at * 37) % 10_000).padStart(5, '0')}`;
const ask = (guard: SharedGuard, accountId: string, to: string) =>
  guard.decide({ accountId, to, ip: null, device: null, challengePassed: false }).refusal?.rule ?? 'sent';

function send(guard: SharedGuard, accountId: string, to: string): void {
  const code = { accountId, to, ip: null, device: null, carrier: '', isProbe: false };
  guard.begin(code);
  guard.accepted({ ...code, carrier: 'alpha' });
}

describe('two guards', () => {
  test('count what the other sends, and what is entered with the other', async () => {
    const accountId = freshAccount();
    const numbers = Array.from({ length: 20 }, (_, at) => `+88017120${String(at * 30).padStart(5, '0')}`);
    for (const to of numbers) send(one, accountId, to);
    expect(ask(one, accountId, '+8801712009999')).toBe('velocity');
    await until('the other knows', () => ask(two, accountId, '+8801712009999') === 'velocity', patient);
    for (const to of numbers.slice(0, 10)) two.verified({ accountId, to });
    expect(ask(two, accountId, '+8801712009999')).toBe('sent');
    await until('the first knows', () => ask(one, accountId, '+8801712009999') === 'sent', patient);
  });

  test('a code that is not accepted after all counts nowhere', async () => {
    const accountId = freshAccount();
    for (let at = 0; at < 30; at += 1) {
      const code = { accountId, to: numberOf(at), ip: null, device: null, carrier: '', isProbe: false };
      one.begin(code);
      one.withdraw(code);
    }
    expect(ask(one, accountId, '+8801712009999')).toBe('sent');
  });

  test('block for both what one finds; shadow and off apply from the change on', async () => {
    const accountId = freshAccount();
    for (let at = 0; at < 11; at += 1) send(one, accountId, `+88017300020${String(at).padStart(2, '0')}`);
    await until('both block', () => ask(two, accountId, '+8801730002555') === 'sequence', patient);
    two.configure({ ...rules, safeList: ['+8801730002'] });
    expect(ask(two, accountId, '+8801730002555')).toBe('sent');
    expect(ask(one, accountId, '+8801730002555')).toBe('sequence');
    two.configure({ ...rules, destinations: ['+39'] });
    expect(ask(two, freshAccount(), '+8801730002555')).toBe('destination');
    two.configure({ ...rules, destinations: ['+39'], modes: { ...guardModesDefault, destination: 'shadow' } });
    expect(ask(two, freshAccount(), '+8801730002555')).toBe('sent');
    two.configure(rules);
  });
});

test('receipts of live one-time passwords are told, and of nothing else; what is no observation is ignored', async () => {
  const heard: GuardObservation[] = [];
  const listener = new GuardTalk(harness.bus, 'listener', systemClock);
  const accountId = freshAccount();
  // Guards of the tests before may still be telling theirs.
  const stop = listener.listen((observation) => {
    if (observation.accountId === accountId) heard.push(observation);
  });
  await harness.bus.connection.flush();
  const receipts = new OtpReceipts(harness.bus, systemClock);
  const delivered = { kind: 'delivered', category: 'otp', livemode: true, accountId, recipient: '+1' };
  for (const event of [
    { ...delivered, kind: 'undelivered' },
    { ...delivered, category: 'promotional' },
    { ...delivered, livemode: false },
    { ...delivered, recipient: '+2' },
  ]) {
    receipts.take(event as unknown as DeliveryEvent);
  }
  for (const wrong of ['{', '{"from":"x","observations":[{"kind":"sent","accountId":"a","to":"+1"}]}', '[]']) {
    harness.bus.connection.publish(otpGuardSubject, wrong);
  }
  await until('the receipt', () => heard.length > 0, patient);
  expect(heard).toEqual([{ kind: 'received', accountId, to: '+2' }]);
  stop();
});
