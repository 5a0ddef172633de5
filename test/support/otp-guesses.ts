// One-time passwords whose codes are compared, as by the ingresses of several nodes, without the HTTP servers in front.
import { expect } from 'vitest';
import { OtpStore } from '../../acceptance/otp/store.ts';
import { type VerifyParts, verifyCode } from '../../acceptance/otp/verify.ts';
import type { Principal } from '../../acceptance/principal.ts';
import { connectBus } from '../../cluster/bus/connect.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { type AccountId, type OtpId, newMessageId, otpIdOf, placeOfOtp } from '../../model/ids.ts';
import { type OtpNumber, otpAttemptsMax } from '../../model/otp.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { otpBinding } from '../../model/records/otp-record.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { otpLimitsDefault } from '../../policy/otp/contract.ts';
import { startOtp } from '../../policy/otp/rules.ts';
import { pendingOtp } from './pending-otp.ts';
import { until } from './until.ts';

export const [rightCode, wrongCode] = ['493817', '000000'];
const accountId = 'acc_01JABCDEFGHJKMNPQRSTVWXYZ0' as AccountId;
const owner = { accountId, livemode: true };
const principal = { account: { accountId }, livemode: true } as unknown as Principal;

export type GuessingNode = Awaited<ReturnType<typeof guessingNode>>;

let guesses = 0;

/** An ingress's store of one-time passwords, with a connection of its own. */
export async function guessingNode(url: string, name: string, cipher: BodyCipher) {
  const bus = await connectBus(url, name);
  const publisher = new Publisher(bus, limits.otp.writes);
  const otps = new OtpStore(bus, publisher, Buffer.alloc(32, 1));
  const parts: VerifyParts = { otps, clock: systemClock, otpLimits: () => otpLimitsDefault, cipher };
  return {
    /** With `rightCode`, for ten minutes. */
    async start(to: string): Promise<OtpId> {
      const nowMs = systemClock.nowMs();
      const messageId = newMessageId(nowMs);
      const place = otps.placeOf(owner, to);
      const id = otpIdOf(messageId, place);
      const secret = JSON.stringify({ code: rightCode, text: rightCode });
      const otp = pendingOtp({
        id,
        sealed: cipher.seal(Buffer.from(secret), otpBinding(id, accountId, to)).toString('base64'),
        createdAtMs: nowMs,
        expiresAtMs: nowMs + 600_000,
        sends: [{ messageId, atMs: nowMs }],
      });
      await until('it is stored', async () => {
        const started = await otps.change(owner, place, (held) => startOtp(held, otp, to, otpLimitsDefault, nowMs));
        return started.ok && started.answer.kind !== 'refused';
      });
      return id;
    },
    /** What a client does: it repeats a request without an answer, under the same name. */
    guess(id: OtpId, code: string, by = `guess-${(guesses += 1)}`) {
      return until('an answer', async () => {
        const verdict = await verifyCode(parts, principal, id, { code, by: [by] });
        if (!verdict.ok) expect(verdict).toMatchObject({ why: 'acceptance', refusal: { code: 'overloaded' } });
        return verdict.ok ? verdict : false;
      });
    },
    /** What is stored, from the leader. */
    numberOf: (id: OtpId): Promise<OtpNumber> =>
      until('the record is read', async () => (await otps.read(owner, placeOfOtp(id))) ?? false),
    async close(): Promise<void> {
      publisher.close();
      await bus.close();
    },
  };
}

type Answer = Awaited<ReturnType<GuessingNode['guess']>>;

/**
 * Of one code: one success if it was verified at all, and no more guesses compared than its limit, by answers and by record.
 */
export function expectOneSuccessWithinTheLimit(answers: readonly Answer[], { otps, failuresMs }: OtpNumber): void {
  const [otp] = otps;
  expect(answers.filter(({ valid }) => valid).length).toBe(otp?.status === 'verified' ? 1 : 0);
  expect(['verified', 'max_attempts_reached']).toContain(otp?.status);
  expect(otp?.attempts).toBeLessThanOrEqual(otpAttemptsMax);
  expect(answers.filter(({ isWrong }) => isWrong).length).toBeLessThanOrEqual(otpAttemptsMax);
  expect(failuresMs.length).toBeLessThanOrEqual(otpAttemptsMax);
}
