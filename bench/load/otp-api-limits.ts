// The default limits of one-time passwords (docs/otp.md), counted as the API counts them, in the virtual time of a bench: by
// its rate table, and by the record of each number.
import { OtpRates } from '../../api/http/otp/otp-rates.ts';
import type { AccountId, MessageId, OtpId } from '../../model/ids.ts';
import type { Otp, OtpNumber } from '../../model/otp.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { defaultShares } from '../../platform/limits-shares.ts';
import { newRateMemory } from '../../platform/rate-table.ts';
import { otpLimitsDefault } from '../../policy/otp/contract.ts';
import { type Decided, countGuess, resendOtp, startOtp, verifyOtp } from '../../policy/otp/rules.ts';
import type { CodeRequest } from './otp-traffic.ts';

const accountId = 'acc_bench' as AccountId;
const ttlMs = 300_000;
const nobody: OtpNumber = { to: null, otps: [], sendsMs: [], failuresMs: [], forgottenToMs: 0 };

/** A code that was started. */
export type StartedCode = { readonly to: string; readonly ip: string; readonly id: OtpId };

export class OtpApiLimits {
  readonly #numbers = new Map<string, OtpNumber>();
  readonly #rates: OtpRates;
  #nowMs = 0;
  #nth = 0;

  constructor() {
    const clock = { ...systemClock, monotonicMs: () => this.#nowMs };
    this.#rates = new OtpRates(newRateMemory(limits.otp.ratesMax), defaultShares, clock);
  }

  /** Null when a limit refuses it. */
  start({ to, ip, atMs }: Pick<CodeRequest, 'to' | 'ip' | 'atMs'>): StartedCode | null {
    this.#nth += 1;
    const id = `otp_${this.#nth}` as OtpId;
    const otp: Otp = {
      ...{ id, purpose: 'default', status: 'pending', reason: null, sealed: null, attempts: 0, guesses: [] },
      ...{ createdAtMs: atMs, expiresAtMs: atMs + ttlMs, endedAtMs: null, sender: 'HELIO', clientReference: null },
      ...{ language: 'en', ownCode: false, verifiedBy: null, sends: [this.#send(atMs)] },
    };
    const isSent = this.#take({ to, ip }, atMs, (held) => {
      const { next, answer } = startOtp(held, otp, to, otpLimitsDefault, atMs);
      return { next, answer: answer.kind === 'started' };
    });
    return isSent ? { to, ip, id } : null;
  }

  /** False when a limit refuses it, or its code is no longer valid for a minute. */
  resend({ to, ip, id }: StartedCode, atMs: number): boolean {
    return this.#take({ to, ip }, atMs, (held) => {
      const { next, answer } = resendOtp(held, id, this.#send(atMs), otpLimitsDefault, atMs);
      return { next, answer: answer.kind === 'changed' };
    });
  }

  /** Its code is entered, and with it no other code of its number is valid. */
  verify({ to, id }: StartedCode, atMs: number): void {
    const counted = countGuess(this.#numbers.get(to) ?? nobody, id, [`by ${id}`], otpLimitsDefault, atMs);
    if (counted.next === null || counted.answer.kind !== 'counted') return;
    const { countedAtMs } = counted.answer;
    const { next } = verifyOtp(counted.next, id, [`by ${id}`], countedAtMs, otpLimitsDefault, atMs);
    if (next !== null) this.#numbers.set(to, next);
  }

  #send(atMs: number): Otp['sends'][number] {
    return { messageId: `sms_${(this.#nth += 1)}` as MessageId, atMs };
  }

  #take(
    { to, ip }: { readonly to: string; readonly ip: string },
    atMs: number,
    decide: (held: OtpNumber) => Decided<boolean>,
  ): boolean {
    this.#nowMs = atMs;
    const taken = this.#rates.take('sends', otpLimitsDefault, { accountId, livemode: true, to, ip, device: null });
    if (!taken.ok) return false;
    const { next, answer } = decide(this.#numbers.get(to) ?? nobody);
    if (next !== null) this.#numbers.set(to, next);
    if (!answer) this.#rates.giveBack(taken.counts);
    return answer;
  }
}
