// Dry runs read registries of the country and send nothing: how many an account may make.
import { expect, test } from 'vitest';
import { DryRuns } from '../../../api/http/explain-sms.ts';
import { limits } from '../../../platform/limits.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const { dryRunsBurst, dryRunsPerSecond } = limits.access;

test('an account has its burst of dry runs and then one a second; another account has its own', () => {
  const clock = new ManualClock();
  const dryRuns = new DryRuns(clock);
  clock.advance(1_000_000);
  const taken = (account: string, count: number) =>
    Array.from({ length: count }, () => dryRuns.refuse(account)).filter((problem) => problem === null).length;
  expect(dryRunsPerSecond).toBe(1);
  expect(taken('one', dryRunsBurst + 20)).toBe(dryRunsBurst);
  expect(dryRuns.refuse('one')).toMatchObject({ code: 'rate_limited' });
  expect(taken('other', 1)).toBe(1);
  clock.advance(999);
  expect(taken('one', 1)).toBe(0);
  clock.advance(1);
  expect(taken('one', 2)).toBe(1);
});
