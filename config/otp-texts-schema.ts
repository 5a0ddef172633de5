// The schema of `otp.texts` in heliograph.yaml: { plain, branded } by language. A text that does not fit one segment with
// its code would make every start in its language a refusal, so it is refused here, with the longest of what a request may
// add.
import { z } from 'zod';
import { otpLength } from '../model/otp.ts';
import { type OtpText, otpText } from '../model/otp-text.ts';
import { segmentUnits } from '../model/text/segment-capacity.ts';
import { countSegments } from '../model/text/segment-count.ts';
import { limits } from '../platform/limits.ts';
import { mapOf, pattern } from './fields.ts';

const { textCharsMax, languagesMax, brandCharsMax } = limits.otp;

export const language = pattern(/^[a-z]{2,3}(-[a-z0-9]{2,8})*$/, 'a language in lower case such as fr or pt-br');

const textExpected = `a text of at most ${textCharsMax} characters with {code}`;
const plain = z
  .string({ error: textExpected })
  .max(textCharsMax, { error: textExpected })
  .refine((text) => text.split('{code}').length === 2, { error: `${textExpected} once` });
const branded = plain.refine((text) => text.split('{brand}').length === 2, {
  error: 'a text with {code} and {brand}, each once',
});

export const otpTextsSchema = z
  .record(language, mapOf({ plain, branded }), { error: 'a map of languages to plain and branded texts' })
  .refine((texts) => Object.keys(texts).length <= languagesMax, { error: `at most ${languagesMax} languages` })
  .superRefine((texts, context) => {
    for (const [name, text] of Object.entries(texts)) {
      for (const form of ['plain', 'branded'] as const) {
        // Its form was wrong already: one problem is enough.
        const message = text[form].length > textCharsMax ? null : tooLong(name, text, form);
        if (message !== null) context.addIssue({ code: 'custom', path: [name, form], message });
      }
    }
  })
  .default({});

const longestCode = '0'.repeat(otpLength.max);
const longestBrand = 'x'.repeat(brandCharsMax);
const appHash = 'x'.repeat(11);

/**
 * What is expected of a text in place of this one; null: it fits one segment. Counted as every carrier can send it, without
 * national shift tables. A domain and a brand of another script may still be too long: those are the request's.
 */
function tooLong(name: string, text: OtpText, form: keyof OtpText): string | null {
  const brand = form === 'plain' ? null : longestBrand;
  const whole = otpText({ [name]: text }, { language: name, brand, domain: null, appHash }, longestCode);
  const counted = countSegments(whole);
  // 'auto' takes every text.
  if (!counted.ok || counted.segmentCount === 1) return null;
  const { encoding, segmentCount, unitCount, forcedBy } = counted;
  const room = segmentUnits[encoding].single;
  const beside = brand === null ? '' : `, a brand of ${brandCharsMax} characters`;
  const withWhat = `a code of ${otpLength.max} digits${beside} and the hash of an app`;
  const why = forcedBy === null ? '' : `, because of "${forcedBy.character}"`;
  return `a text of ${name} that fits one segment: with ${withWhat} it takes ${segmentCount} segments (${unitCount} characters, of ${encodings[encoding]} ${room} fit${why}), shorten it by ${unitCount - room}`;
}

const encodings = { gsm7: 'GSM-7', ucs2: 'UCS-2' } as const;
