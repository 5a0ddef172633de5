// Timestamps as clients write them: an accepted one is read as the moment it says, and any other is refused.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { momentOf } from '../../model/moment.ts';

test('every moment of the calendar is read as itself, in any offset', () => {
  const from = Date.UTC(1, 0, 1) + 365 * 86_400_000 * 100;
  fc.assert(
    fc.property(
      fc.integer({ min: from, max: Date.UTC(9998, 0, 1) }),
      fc.integer({ min: -1_439, max: 1_439 }),
      (ms, offset) => {
        expect(momentOf(new Date(ms).toISOString())).toBe(ms);
        const local = new Date(ms + offset * 60_000).toISOString().slice(0, -1);
        const sign = offset < 0 ? '-' : '+';
        const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60];
        const zone = `${sign}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`;
        expect(momentOf(`${local}${zone}`)).toBe(ms);
      },
    ),
  );
});

test.each([
  '',
  'now',
  '2030-01-01',
  '2030-01-01T00:00:00',
  '2030-01-01T00:00Z',
  '2030-1-01T00:00:00Z',
  '2030-13-01T00:00:00Z',
  '2030-00-01T00:00:00Z',
  '2030-02-30T00:00:00Z',
  '2029-02-29T00:00:00Z',
  '2030-01-00T00:00:00Z',
  '2030-01-01T24:00:00Z',
  '2030-01-01T00:60:00Z',
  '2030-01-01T00:00:60Z',
  '2030-01-01T00:00:00+24:00',
  '2030-01-01T00:00:00+06:60',
  '2030-01-01T00:00:00+0600',
  ' 2030-01-01T00:00:00Z',
  '+002030-01-01T00:00:00Z',
])('%j is no moment', (text) => {
  expect(momentOf(text)).toBeNull();
});

test('small letters, fractions and leap days are read', () => {
  expect(momentOf('2028-02-29t12:00:00z')).toBe(Date.UTC(2028, 1, 29, 12));
  expect(momentOf('2030-01-01T00:00:00.123456Z')).toBe(Date.UTC(2030, 0, 1) + 123);
});
