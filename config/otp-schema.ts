// The schema of `otp` in heliograph.yaml: texts by language (`otp.texts.fr: { plain, branded }`), the default language, and
// limits in the form `5/10m` (`otp.limits.sends.number`). Absent keys have their default of policy/otp/contract.ts.
import { z } from 'zod';
import { prefixPattern } from '../model/e164.ts';
import { limits } from '../platform/limits.ts';
import {
  type OtpCounted,
  type OtpDimension,
  type OtpLimit,
  type OtpRules,
  guardModesDefault,
  hedgingRulesDefault,
  otpCounted,
  otpDimensions,
  otpRulesDefault,
} from '../policy/otp/contract.ts';
import { type SwitchedRule, guardModes, guardRules } from '../policy/otp-guard/contract.ts';
import { hedgingBounds } from '../policy/otp-hedging/contract.ts';
import { eachOf, listOf, mapOf, numberFrom, oneOf, pattern, whole, yesOrNo } from './fields.ts';
import { language, otpTextsSchema } from './otp-texts-schema.ts';

const { limitCountMax, numberSendsMax, numberGuessesMax } = limits.otp;
const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const form = /^([1-9][0-9]{0,9})\/([1-9][0-9]{0,3})?([smhd])$/;

/** `5/10m` → five in ten minutes; null for another form, or outside of what can be counted. */
export function otpLimitOf(text: string): OtpLimit | null {
  const [, count, amount = '1', unit = ''] = form.exec(text) ?? [];
  const perMs = Number(amount) * (units[unit] ?? 0);
  if (count === undefined || Number(count) > limitCountMax || perMs > dayMs) return null;
  return { count: Number(count), perMs };
}

/** As the file has it: 5/10m. */
export function otpLimitText({ count, perMs }: OtpLimit): string {
  const [unit = 's', unitMs = 1_000] = Object.entries(units).findLast(([, ms]) => perMs % ms === 0) ?? [];
  const amount = perMs / unitMs;
  return `${count}/${amount === 1 ? '' : amount}${unit}`;
}

const dayMs = 86_400_000;

/** The sends of a number are in its record, which is kept no longer. */
const perMsMaxOf = (counted: OtpCounted, dimension: OtpDimension): number =>
  counted === 'sends' && dimension === 'number' ? limits.otp.recordTtlMs : dayMs;

/** Times of a number are in its record, so there are at most so many of them. */
const countMaxOf = (counted: OtpCounted, dimension: OtpDimension): number => {
  if (dimension !== 'number' || counted === 'verifications') return limitCountMax;
  return counted === 'sends' ? numberSendsMax : numberGuessesMax;
};

const limitOf = (counted: OtpCounted, dimension: OtpDimension) => {
  const countMax = countMaxOf(counted, dimension);
  const perMsMax = perMsMaxOf(counted, dimension);
  const most = countMax === limitCountMax ? '' : `, at most ${countMax}`;
  const error = `a limit such as 5/10m (count / period of s, m, h or d up to ${perMsMax === dayMs ? 'a day' : 'an hour'})${most}`;
  return z
    .string({ error })
    .transform((text, context) => {
      const limit = otpLimitOf(text);
      if (limit !== null && limit.count <= countMax && limit.perMs <= perMsMax) return limit;
      context.addIssue({ code: 'custom', message: error });
      return z.NEVER;
    })
    .default(otpRulesDefault.limits[counted][dimension]);
};

const limitsOf = (counted: OtpCounted) =>
  eachOf(otpDimensions, (dimension) => limitOf(counted, dimension)).prefault({});

const guardPrefix = pattern(prefixPattern, 'the first digits of numbers in quotes, such as "+880171"');
const { listMax } = limits.otpGuard;
const guardMode = (rule: SwitchedRule) => oneOf(guardModes).default(guardModesDefault[rule]);
const guard = mapOf({
  rules: eachOf(guardRules, guardMode).prefault({}),
  destinations: listOf(guardPrefix, listMax).default([]),
  safe_list: listOf(guardPrefix, listMax).default([]),
})
  .transform(({ rules: modes, ...lists }) => ({ modes, ...lists }))
  .prefault({});

const share = ({ min, max }: { readonly min: number; readonly max: number }, usual: number) =>
  numberFrom(min, max, `a share from ${min} to ${max}`).default(usual);
const { responseFloorMs: floor, receiptFloorMs: receiptFloor } = hedgingBounds;
const hedging = mapOf({
  enabled: yesOrNo.default(hedgingRulesDefault.enabled),
  share: share(hedgingBounds.share, hedgingRulesDefault.share),
  control: share(hedgingBounds.control, hedgingRulesDefault.control),
  response_floor_ms: whole(floor.min, floor.max).default(hedgingRulesDefault.responseFloorMs),
  receipts: yesOrNo.default(hedgingRulesDefault.receipts),
  receipt_floor_ms: whole(receiptFloor.min, receiptFloor.max).default(hedgingRulesDefault.receiptFloorMs),
}).prefault({});

export const otpSchema = mapOf({
  language: language.default(otpRulesDefault.language),
  texts: otpTextsSchema,
  limits: eachOf(otpCounted, limitsOf).prefault({}),
  guard,
  hedging,
})
  .transform((file, context): OtpRules => {
    const texts = { ...otpRulesDefault.texts, ...file.texts };
    if (!Object.hasOwn(texts, file.language)) {
      context.addIssue({ code: 'custom', path: ['language'], message: `one of ${Object.keys(texts).join(', ')}` });
    }
    return { ...file, texts };
  })
  .prefault({});
