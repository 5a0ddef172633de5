// What the limits in memory count together and what apart: the modes of an account, and the bound over all accounts.
import { expect, test } from 'vitest';
import { OtpRates, type OtpUser } from '../../../../api/http/otp/otp-rates.ts';
import type { AccountId } from '../../../../model/ids.ts';
import { defaultShares } from '../../../../platform/limits-shares.ts';
import { newRateMemory } from '../../../../platform/rate-table.ts';
import { type OtpLimits, otpCounted, otpDimensions } from '../../../../policy/otp/contract.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const [mine, another] = ['acc_01JABCDEFGHJKMNPQRSTVWXYZ0', 'acc_01JABCDEFGHJKMNPQRSTVWXYZ1'] as AccountId[];
const live = { accountId: mine as AccountId, livemode: true };
const ofTest = { ...live, livemode: false };
const other = { accountId: another as AccountId, livemode: true };

const ratesWith = (share: { perAccount: number; total: number }) =>
  new OtpRates(
    newRateMemory(1_000),
    { ...defaultShares, otp_started: { ...defaultShares.otp_started, ...share } },
    new ManualClock(),
  );

const once = { count: 1, perMs: 3_600_000 };
const onceEach = Object.fromEntries(
  otpCounted.map((counted) => [counted, Object.fromEntries(otpDimensions.map((dimension) => [dimension, once]))]),
) as OtpLimits;

test.each(otpCounted)('%s under a test key leave those under a live key alone, and the other way round', (counted) => {
  const rates = ratesWith({ perAccount: 10, total: 10 });
  const user = { to: '+8801712345678', ip: '203.0.113.7', device: 'phone' };
  const take = (owner: Pick<OtpUser, 'accountId' | 'livemode'>) => {
    const taken = rates.take(counted, onceEach, { ...owner, ...user });
    return taken.ok && taken.beyond === null;
  };
  expect([take(ofTest), take(ofTest), take(live), take(live), take(ofTest), take(other)]).toEqual([
    ...[true, false, true, false, false, true],
  ]);
});

test('an account has its share of starts in each mode; the bound of all accounts is one', () => {
  const rates = ratesWith({ perAccount: 2, total: 5 });
  const codes = [ofTest, ofTest, ofTest, live, live, live, other, other].map((owner) => rates.takeRecord(owner)?.code);
  expect(codes).toEqual([
    ...[undefined, undefined, 'otp_rate_limited', undefined, undefined, 'otp_rate_limited'],
    ...[undefined, 'overloaded'],
  ]);
});

test('a start that is refused because all accounts are at their bound takes nothing of the account’s share', () => {
  const rates = ratesWith({ perAccount: 2, total: 1 });
  expect(rates.takeRecord(other)).toBeNull();
  for (let tries = 0; tries < 5; tries += 1) expect(rates.takeRecord(live)).toMatchObject({ code: 'overloaded' });
  rates.giveBackRecord(other);
  expect(rates.takeRecord(live)).toBeNull();
});
