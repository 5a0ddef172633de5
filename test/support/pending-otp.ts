// A one-time password that waits for its code, as a start makes it.
import type { Otp } from '../../model/otp.ts';

/** For five minutes from its start, unless `of` says otherwise. */
export const pendingOtp = (of: Pick<Otp, 'id' | 'createdAtMs' | 'sends'> & Partial<Otp>): Otp => ({
  purpose: 'default',
  status: 'pending',
  reason: null,
  sealed: 'c2VhbGVkIGNvZGU=',
  attempts: 0,
  guesses: [],
  expiresAtMs: of.createdAtMs + 300_000,
  endedAtMs: null,
  sender: 'HELIO',
  clientReference: null,
  language: 'en',
  ownCode: false,
  verifiedBy: null,
  ...of,
});
