// Both forms of a time on the wire (SMPP 3.4, 7.1.1), compared with plain arithmetic.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { absoluteTime, readTime, relativeTime } from '../../smpp/times.ts';

describe('validity on the wire', () => {
  test.each([
    [1, '000000000001000R'],
    [999, '000000000001000R'],
    [1_999, '000000000001000R'],
    [300_000, '000000000500000R'],
    [3_599_999, '000000005959000R'],
    [86_399_999, '000000235959000R'],
    [86_400_000, '000001000000000R'],
    [172_800_000, '000002000000000R'],
  ])('%i ms are %s', (leftMs, text) => {
    expect(relativeTime(leftMs)).toBe(text);
  });
  test('any validity is sixteen characters of the form and never rounds up', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_000, max: 30 * 86_400_000 }), (leftMs) => {
        const text = relativeTime(leftMs);
        expect(text).toMatch(/^0000\d{8}000R$/);
        const [days, hours, minutes, seconds] = [4, 6, 8, 10].map((at) => Number(text.slice(at, at + 2)));
        expect(((days! * 24 + hours!) * 60 + minutes!) * 60 + seconds!).toBe(Math.floor(leftMs / 1_000));
      }),
    );
  });
});

describe('a moment on the wire', () => {
  test('is UTC to the tenth of a second', () => {
    expect(absoluteTime(Date.UTC(2026, 10, 20, 6, 7, 8, 999))).toBe('261120060708900+');
    expect(absoluteTime(Date.UTC(2026, 0, 1))).toBe('260101000000000+');
  });
  test('is read in its zone', () => {
    expect(readTime('261120060708900+', 0)).toBe(Date.UTC(2026, 10, 20, 6, 7, 8, 900));
    expect(readTime('261120060000024+', 0)).toBe(Date.UTC(2026, 10, 20, 0));
    expect(readTime('261120060000024-', 0)).toBe(Date.UTC(2026, 10, 20, 12));
  });
  test('of either form is the moment it was written for', () => {
    const moment = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2090, 0, 1) });
    fc.assert(
      fc.property(moment, fc.integer({ min: 1, max: 99 * 86_400 - 1 }), (nowMs, leftS) => {
        expect(readTime(absoluteTime(nowMs), 0)).toBe(Math.floor(nowMs / 100) * 100);
        expect(readTime(relativeTime(leftS * 1_000), nowMs)).toBe(nowMs + leftS * 1_000);
      }),
    );
  });
  test.each(['', '2611200607089', '261320060708900+', '261100060708900+', '261120240708900+', '261120060708949+', 'x'])(
    '%j is no time',
    (text) => expect(readTime(text, 0)).toBeUndefined(),
  );
});
