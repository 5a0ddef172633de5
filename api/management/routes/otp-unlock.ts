// Unlocks a number of the account. In effect at once: the record of the number is asked before each code.
import { unlockNumber } from '../../../control/otp-unlock.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { onTheBus } from '../on-the-bus.ts';
import { otpUnlock, unlockOtpBody } from '../schemas/otp.ts';

export const otpUnlockEndpoints: readonly Endpoint[] = [
  endpoint({
    method: 'post',
    path: '/v1/otp/unlock',
    tag: 'OTP',
    summary: 'Unlock a number',
    description:
      'Forgets the wrong guesses about a number, also of one that is not locked yet: it gets codes again, and others may be ' +
      'guessed at. Codes that wait get no attempts back, and sends stay counted. Of the mode of the key.',
    scope: 'account:manage',
    body: unlockOtpBody,
    answer: { status: 200, description: 'What was forgotten.', schema: otpUnlock },
    handle: ({ parts: { bus, store }, by, principal: { livemode }, account: { accountId }, body }) =>
      onTheBus(onBus, async () => ({
        body: await unlockNumber(bus, { accountId, livemode }, body.to, by, store.clock),
      })),
  }),
];

const onBus = {
  failed: 'a number was not unlocked, or not wholly',
  unknown: 'the number may or may not be unlocked: repeat it',
};
