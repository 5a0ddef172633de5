// `otp unlock`: forgets the wrong guesses about a number of an account, which locked it. Uses NATS only.
import { openBucket } from '../cluster/bus/ensure.ts';
import { unlockNumber } from '../control/otp-unlock.ts';
import { isE164 } from '../model/e164.ts';
import { systemClock } from '../platform/clock.ts';
import { SetupError, messageOf } from '../platform/errors.ts';
import { operatorName } from './operator-name.ts';
import { accountIdOf } from './options.ts';
import type { Result } from './print.ts';
import { accountNotFound } from './tenants.ts';
import { explained, withBus } from './with-bus.ts';

export async function unlockCommand(to: string, options: { account: string; test?: boolean }): Promise<Result> {
  const accountId = accountIdOf(options.account, '--account');
  if (!isE164(to)) throw new SetupError(`found "${to}", expected a number in E.164 form, such as +8801712345678`);
  const owner = { accountId, livemode: options.test !== true };
  return withBus(async (bus) => {
    const silent = (error: unknown) => `NATS did not answer: ${messageOf(error)}; to unlock again is harmless`;
    const bucket = await explained(openBucket(bus, 'directory'), silent);
    const entry = await explained(bucket.get(`account.${accountId}`), silent);
    if (entry?.operation !== 'PUT') throw accountNotFound(accountId);
    const unlocked = await explained(unlockNumber(bus, owner, to, operatorName(), systemClock), silent);
    const count = unlocked.failed_guesses;
    return { json: unlocked, lines: [`Unlocked  ${to}  wrong guesses forgotten: ${count}`] };
  });
}
