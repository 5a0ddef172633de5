// Records of one-time passwords that the version before has written.
import { expect, test } from 'vitest';
import { decodeOtpNumber, encodeOtpNumber } from '../../../model/records/otp-record.ts';

test('a record without names of guesses is read as one that has none', () => {
  const otp = { id: 'otp_1', status: 'pending', attempts: 2 };
  const stored = { v: 1, mark: 'a b', to: '+8801712345678', otps: [otp], sendsMs: [1], failuresMs: [2, 3] };
  const { number, mark } = decodeOtpNumber(Buffer.from(JSON.stringify(stored)));
  expect(number.otps).toEqual([{ ...otp, guesses: [] }]);
  const named = { ...number, otps: number.otps.map((each) => ({ ...each, guesses: [['name', 4] as const] })) };
  expect(decodeOtpNumber(encodeOtpNumber(named, mark)).number).toEqual(named);
});
