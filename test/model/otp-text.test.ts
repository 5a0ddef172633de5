// The shipped texts: with the longest code, a brand and either last line, each fits one segment, has the code where phones
// look for it, and no link.
import { expect, test } from 'vitest';
import { countSegments } from '../../model/text/segment-count.ts';
import { otpTextsShipped } from '../../policy/otp/contract.ts';
import { otpLanguage, otpText } from '../../model/otp-text.ts';

const languages = Object.keys(otpTextsShipped);
const code = '0123456789';
const plain = { brand: null, domain: null, appHash: null };

test('English and Bangla are shipped', () => {
  expect(languages).toEqual(['en', 'bn']);
  expect(otpLanguage(otpTextsShipped, 'bn-BD')).toBe('bn');
  expect(otpLanguage(otpTextsShipped, 'EN')).toBe('en');
  expect([otpLanguage(otpTextsShipped, 'fr'), otpLanguage(otpTextsShipped, 'constructor')]).toEqual([null, null]);
});

test.each(languages)('each text of %s fits one segment with its code', (language) => {
  for (const brand of [null, 'Heliograph']) {
    for (const line of [plain, { domain: 'shop.example.com' }, { appHash: 'FA+9qCX9VSu' }]) {
      const text = otpText(otpTextsShipped, { language, ...plain, ...line, brand }, code);
      expect([text, countSegments(text)]).toMatchObject([text, { ok: true, segmentCount: 1 }]);
      expect(text.indexOf(code) + code.length).toBeLessThanOrEqual(40);
      expect(text).not.toMatch(/https?:|www\.|\{/);
    }
  }
});

test('the line that a phone reads is the last one, and names of any kind stay as they are', () => {
  const at = (of: object, language = 'en') => otpText(otpTextsShipped, { language, ...plain, ...of }, '493817');
  expect(at({ domain: 'example.com' }).split('\n').at(-1)).toBe('@example.com #493817');
  expect(at({ appHash: 'FA+9qCX9VSu' })).toMatch(/^<#> 493817 is your code\..*\nFA\+9qCX9VSu$/s);
  expect(at({ brand: '$& {code}' })).toBe('493817 is your $& {code} code. Do not share it with anyone.');
  // SMS Retriever reads at most 140 octets.
  expect(Buffer.byteLength(at({ brand: 'Heliograph', appHash: 'FA+9qCX9VSu' }))).toBeLessThanOrEqual(140);
});
