// Heartbeats about the times of OTP: what is read and what is ignored.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { otpTimes } from '../../../cluster/bus/otp-times.ts';

const read = (text: string) => otpTimes.read(Buffer.from(text));

describe('a heartbeat about the times of OTP', () => {
  test('decodes to what was written', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (a, b) => {
        const times = { carrier: 'blue', node: 'one', count: Math.max(a, b), slow: Math.min(a, b) };
        expect(read(JSON.stringify(times))).toEqual(times);
      }),
    );
  });

  test.each([
    'null',
    '{"carrier":"a","node":"b"}',
    '{"carrier":"a","node":"b","count":1,"slow":2}',
    '{"carrier":"a","node":"b","count":1.5,"slow":1}',
    '{"carrier":"a","node":"b","count":-1,"slow":-1}',
    '{"carrier":"a","node":"b","count":"9","slow":1}',
    '{"count":2,"slow":1}',
  ])('is ignored: %s', (text) => {
    expect(read(text)).toBeNull();
  });
});
