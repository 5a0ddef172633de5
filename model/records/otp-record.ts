// The record of a number in the bucket `otp`: JSON, so that an operator can read all of it but the sealed code. A version
// that this code does not know is an error: it must not be overwritten. `mark` has one word for each of the last writes, the
// newest first: a writer whose answer was lost recognises its own.
import { assert } from '../../platform/assert.ts';
import { jsonObjectIn } from '../../platform/json.ts';
import type { Otp, OtpFailures, OtpNumber } from '../otp.ts';

const version = 1;

type StoredOtp = Omit<Otp, 'guesses'> & Partial<Pick<Otp, 'guesses'>>;
type StoredFailures = Pick<OtpFailures, 'failuresMs'> & Partial<OtpFailures>;
type StoredNumber = Pick<OtpNumber, 'to' | 'sendsMs'> &
  StoredFailures & { readonly mark: string; readonly otps: readonly StoredOtp[] };

/** Nearly every record is without an unlock. */
const storedOf = ({ failuresMs, forgottenToMs }: OtpFailures): StoredFailures =>
  forgottenToMs === 0 ? { failuresMs } : { failuresMs, forgottenToMs };

export function encodeOtpNumber({ to, otps, sendsMs, ...failures }: OtpNumber, mark: string): Buffer {
  return Buffer.from(JSON.stringify({ v: version, mark, to, otps, sendsMs, ...storedOf(failures) }));
}

export function decodeOtpNumber(octets: Uint8Array): { readonly number: OtpNumber; readonly mark: string } {
  const value = jsonObjectIn(octets);
  assert(value !== null && value['v'] === version, 'a record of one-time passwords that this version cannot read');
  const { mark, to, otps, sendsMs, failuresMs, forgottenToMs = 0 } = value as unknown as StoredNumber;
  // Records of versions before have no guesses.
  return {
    mark,
    number: { to, otps: otps.map((otp) => ({ guesses: [], ...otp })), sendsMs, failuresMs, forgottenToMs },
  };
}

/** What a code is sealed for: moved to another OTP, account or number it cannot be opened. */
export function otpBinding(id: string, accountId: string, to: string): string {
  return `${id}|${accountId}|${to}`;
}

/** The times of failed guesses about a number, in the bucket `otp_failures`. */
export function encodeOtpFailures(failures: OtpFailures): Buffer {
  return Buffer.from(JSON.stringify({ v: version, ...storedOf(failures) }));
}

export function decodeOtpFailures(octets: Uint8Array): OtpFailures {
  const value = jsonObjectIn(octets);
  assert(value !== null && value['v'] === version, 'failed guesses that this version cannot read');
  const { failuresMs, forgottenToMs = 0 } = value as unknown as StoredFailures;
  return { failuresMs, forgottenToMs };
}
