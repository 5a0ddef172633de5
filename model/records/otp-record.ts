// The record of a number in the bucket `otp`: JSON, so that an operator can read all of it but the sealed code. A version
// that this code does not know is an error: it must not be overwritten. `mark` has one word for each of the last writes, the
// newest first: a writer whose answer was lost recognises its own.
import { assert } from '../../platform/assert.ts';
import { jsonObjectIn } from '../../platform/json.ts';
import type { OtpNumber } from '../otp.ts';

const version = 1;

type StoredNumber = OtpNumber & { readonly mark: string };

export function encodeOtpNumber({ to, otps, sendsMs, failuresMs }: OtpNumber, mark: string): Buffer {
  return Buffer.from(JSON.stringify({ v: version, mark, to, otps, sendsMs, failuresMs }));
}

export function decodeOtpNumber(octets: Uint8Array): { readonly number: OtpNumber; readonly mark: string } {
  const value = jsonObjectIn(octets);
  assert(value !== null && value['v'] === version, 'a record of one-time passwords that this version cannot read');
  const { mark, to, otps, sendsMs, failuresMs } = value as unknown as StoredNumber;
  return { mark, number: { to, otps, sendsMs, failuresMs } };
}

/** What a code is sealed for: moved to another OTP, account or number it cannot be opened. */
export function otpBinding(id: string, accountId: string, to: string): string {
  return `${id}|${accountId}|${to}`;
}

/** The times of failed guesses about a number, in the bucket `otp_failures`. */
export function encodeOtpFailures(failuresMs: readonly number[]): Buffer {
  return Buffer.from(JSON.stringify({ v: version, failuresMs }));
}

export function decodeOtpFailures(octets: Uint8Array): readonly number[] {
  const value = jsonObjectIn(octets);
  assert(value !== null && value['v'] === version, 'failed guesses that this version cannot read');
  return value['failuresMs'] as readonly number[];
}
