// One-time passwords in the bucket `otp` as an ingress writes them, without the HTTP server in front.
import { OtpStore } from '../../acceptance/otp/store.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { type AccountId, type MessageId, type OtpId, newMessageId, otpIdOf, placeOfOtp } from '../../model/ids.ts';
import type { Otp, OtpNumber } from '../../model/otp.ts';
import { pendingOtp } from './pending-otp.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { otpLimitsDefault as rules } from '../../policy/otp/contract.ts';
import {
  type Decided,
  cancelOtp,
  countGuess,
  failGuess,
  resendOtp,
  startOtp,
  verifyOtp,
  withdrawSend,
} from '../../policy/otp/rules.ts';

export type OtpNumbers = ReturnType<typeof openOtpNumbers>;

let names = 0;
/** A guess under the name of another one would be its repeat. */
const nextName = () => `guess-${(names += 1)}`;

/** Number `nth` of the tests, in E.164. */
export const otpNumber = (nth: number) => `+88017${String(10_000_000 + nth)}`;

export function openOtpNumbers(bus: Bus, accountId: AccountId, livemode = true) {
  const publisher = new Publisher(bus, limits.otp.writes);
  const store = new OtpStore(bus, publisher, Buffer.alloc(32, 1));
  const owner = { accountId, livemode };

  async function change<A>(id: OtpId, decide: (held: OtpNumber) => Decided<A>): Promise<A> {
    const changed = await store.change(owner, placeOfOtp(id), decide);
    if (!changed.ok) throw new Error('the bucket did not answer');
    return changed.answer;
  }
  return {
    close: () => publisher.close(),
    read: (id: OtpId) => store.read(owner, placeOfOtp(id)),
    async start(to: string, of: Partial<Otp> = {}): Promise<Otp> {
      const nowMs = of.createdAtMs ?? systemClock.nowMs();
      const messageId = newMessageId(nowMs);
      const id = otpIdOf(messageId, store.placeOf(owner, to));
      const otp = pendingOtp({ id, createdAtMs: nowMs, sends: [{ messageId, atMs: nowMs }], ...of });
      await change(id, (held) => startOtp(held, otp, to, rules, nowMs));
      return otp;
    },
    async verify(id: OtpId, nowMs = systemClock.nowMs()): Promise<void> {
      const by = `by-${nowMs}`;
      const counted = await change(id, (held) => countGuess(held, id, [by], rules, nowMs));
      if (counted.kind !== 'counted') throw new Error(`the guess was not counted: ${counted.kind}`);
      await change(id, (held) => verifyOtp(held, id, [by], counted.countedAtMs, rules, nowMs));
    },
    /** Counts a guess that is not compared: its process is killed. */
    countGuess: (id: OtpId, nowMs = systemClock.nowMs()) =>
      change(id, (held) => countGuess(held, id, [nextName()], rules, nowMs)),
    async guessWrong(id: OtpId, nowMs = systemClock.nowMs()): Promise<void> {
      const counted = await change(id, (held) => countGuess(held, id, [nextName()], rules, nowMs));
      const attempt = counted.kind === 'counted' ? counted.otp.attempts : 0;
      await change(id, (held) => failGuess(held, id, attempt, rules, nowMs));
    },
    async resend(id: OtpId, nowMs = systemClock.nowMs()): Promise<MessageId> {
      const messageId = newMessageId(nowMs);
      await change(id, (held) => resendOtp(held, id, { messageId, atMs: nowMs }, rules, nowMs));
      return messageId;
    },
    cancel: (id: OtpId, nowMs = systemClock.nowMs()) => change(id, (held) => cancelOtp(held, id, rules, nowMs)),
    withdraw: ({ id, sends: [send] }: Otp, nowMs = systemClock.nowMs()) =>
      change(id, (held) => withdrawSend(held, id, send as Otp['sends'][number], nowMs)),
  };
}
