// The bodies of the one-time password routes as schemas: what is checked and what the OpenAPI document shows is one.
// They check form; whether a language or a template exists, and how short a code may be, is decided with the account.
import { z } from '@hono/zod-openapi';
import { brandProblem } from '../../../model/brand-name.ts';
import { otpLength } from '../../../model/otp.ts';
import { isBlank } from '../../../model/plain-text.ts';
import { limits } from '../../../platform/limits.ts';
import { householdOf, parseIp } from '../../../platform/ip-address.ts';
import { normalizedCode } from '../../../policy/otp/code.ts';
import { parseObject } from '../../json-object.ts';
import type { OrProblem } from '../../problem.ts';
import { check } from '../../validation.ts';
import { isOneLine } from '../one-line.ts';

const {
  ttlSecondsMin,
  ttlSecondsMax,
  ttlSecondsUsual,
  brandCharsMax,
  purposeCharsMax,
  deviceIdCharsMax,
  domainCharsMax,
} = limits.otp;
const { clientReferenceCharsMax } = limits.http;

const text = (error: string) => z.string({ error });
/** What is wrong with a text of a wrong length is not asked. */
const sized = (min: number, max: number, error: string) =>
  text(error).min(min, { error, abort: true }).max(max, { error, abort: true });
const notOneLine = 'must be well-formed text without control characters';
const whole = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
};
const matching = (form: RegExp, error: string) => text(error).regex(form, { error });

const digits = (min: number, max: number) => new RegExp(`^[0-9]{${min},${max}}$`);
const hostForm = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

const notAnAddress = 'must be an IP address, such as 203.0.113.7 or 2001:db8::7';
const who = {
  client_ip: text(notAnAddress)
    .max(45, { error: notAnAddress })
    .refine((value) => parseIp(value) !== null, { error: notAnAddress })
    .optional()
    .describe('The address of your user, from which limits are counted. Not ours to see: you pass it on.'),
  device_id: sized(1, deviceIdCharsMax, `must be a text of 1 to ${deviceIdCharsMax} characters`)
    .refine(isOneLine, { error: notOneLine, abort: true })
    .refine((value) => !isBlank(value), { error: 'must have a visible character' })
    .optional()
    .describe('The device or session of your user, in your words: limits are counted over it too.'),
};

const notABrand = `must be a text of 1 to ${brandCharsMax} characters`;
export const startOtpBody = z.strictObject({
  to: text('must be a string with a number in E.164 form').describe('E.164 with the leading plus.'),
  from: text('must be a string with the sender')
    .optional()
    .describe('An approved sender of the account; it may be left out where the account has one for OTP.'),
  brand: sized(1, brandCharsMax, notABrand)
    .superRefine((value, context) => {
      const message = brandProblem(value);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .optional()
    .describe(
      'The name in the text: a letter or digit at least, and no link, address, telephone number or invisible character. ' +
        'The whole text must fit one segment with it.',
    ),
  length: whole(otpLength.min, otpLength.max)
    .optional()
    .describe(
      `Digits of the code, ${otpLength.usual} without it; fewer than ${otpLength.withoutFlagMin} where the account may.`,
    ),
  code: matching(
    digits(otpLength.min, otpLength.max),
    `must be a string of ${otpLength.min} to ${otpLength.max} digits`,
  )
    .optional()
    .describe('Your own code instead of a random one; the key needs the scope `otp:custom_code`.'),
  ttl_seconds: whole(ttlSecondsMin, ttlSecondsMax).default(ttlSecondsUsual).describe('How long the code counts.'),
  language: matching(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'must be a language, such as en or bn-BD').optional(),
  template_id: text('must be a string with the id of a template')
    .optional()
    .describe('An approved OTP template of the account with a variable `code`, and `brand` where `brand` is given.'),
  client_reference: text(`must be a string of at most ${clientReferenceCharsMax} characters`)
    .max(clientReferenceCharsMax, { error: `must be a string of at most ${clientReferenceCharsMax} characters` })
    .refine(isOneLine, { error: notOneLine })
    .nullable()
    .optional()
    .describe('Yours; returned wherever the OTP or its messages are shown.'),
  app_hash: matching(/^[A-Za-z0-9+/]{11}$/, 'must be the eleven characters of the Android app’s hash')
    .optional()
    .describe('For the SMS Retriever of Android: `<#>` before the text, this hash as its last line.'),
  domain: matching(hostForm, 'must be the host of your page, such as example.com')
    .max(domainCharsMax, { error: 'must be the host of your page, such as example.com' })
    .optional()
    .describe('For WebOTP and Safari: the last line `@example.com #493817`. Not together with `app_hash`.'),
  purpose: matching(
    new RegExp(`^[a-z0-9_.-]{1,${purposeCharsMax}}$`),
    `must be 1 to ${purposeCharsMax} characters of a-z, 0-9, _, . and -`,
  )
    .default('default')
    .describe('What the code confirms, such as sign_in: codes of different purposes do not touch each other.'),
  challenge_passed: z
    .boolean({ error: 'must be true or false' })
    .optional()
    .describe(
      'Your user has solved a challenge since the answer `otp_challenge`. Yours to say: never pass on what the user sent.',
    ),
  ...who,
});

const { guessCharsMax } = limits.otp;
const guessForm = `must be a string of digits, at most ${guessCharsMax} characters; spaces and dashes are ignored`;

export const verifyOtpBody = z.strictObject({
  code: text(guessForm)
    .max(guessCharsMax, { error: guessForm })
    .refine((value) => normalizedCode(value) !== null, { error: guessForm })
    .describe('What the user typed: digits of any script.'),
  ...who,
});

export const resendOtpBody = z.strictObject(who);
/** Its one form is an empty object: no limit counts a cancel. */
export const cancelOtpBody = z.strictObject({});

export type StartOtpBody = z.infer<typeof startOtpBody>;
export type VerifyOtpBody = z.infer<typeof verifyOtpBody>;
export type ResendOtpBody = z.infer<typeof resendOtpBody>;

/**
 * The client's address and device under which limits and the guard count: one household has 2^64 addresses of IPv6, and each
 * may be written in several ways.
 */
export function clientOf({ client_ip: address, device_id: device }: ResendOtpBody): {
  readonly ip: string | null;
  readonly device: string | null;
} {
  const octets = address === undefined ? null : parseIp(address);
  return { ip: octets === null ? null : householdOf(octets), device: device ?? null };
}

/** Checks a body against one of the schemas. An empty body is an object without fields. */
export function parseOtpBody<Body>(schema: z.ZodType<Body>, body: Buffer): OrProblem<{ readonly value: Body }> {
  const parsed = body.length === 0 ? ({ ok: true, fields: {} } as const) : parseObject(body);
  return parsed.ok ? check<Body>(schema, parsed.fields, 'unknown_field') : parsed;
}
