// `accounts limit|networks|resend|inbound`: an account's settings, in the database of the running system; the outbox
// sends every change to the entry points and carriers. Without options a command shows the settings.
import { networkProblem } from '../platform/ip-address.ts';
import { categories } from '../model/message.ts';
import { SetupError } from '../platform/errors.ts';
import { accountWeightMax } from '../platform/limits-lanes.ts';
import { limits } from '../platform/limits.ts';
import { type AccountSettings, changeAccountSettings } from '../control/store/account-settings.ts';
import { accountIdOf, categoriesOf, wholeNumber, yesOrNo } from './options.ts';
import type { Result } from './print.ts';
import { accountNotFound, withStore } from './tenants.ts';

export type LimitOptions = {
  perSecond?: string;
  burst?: string;
  idempotencyKeysPerHour?: string;
  weight?: string;
  otpShortCodes?: string;
};

export async function limitAccount(id: string, options: LimitOptions): Promise<Result> {
  const { requestsPerSecondMax, burstMax } = limits.access;
  const perSecond = numberOrNone('--per-second', options.perSecond, 'none', 1, requestsPerSecondMax);
  const burst = numberOrNone('--burst', options.burst, 'none', 1, burstMax);
  if (options.burst !== undefined && typeof perSecond !== 'number') {
    throw new SetupError('--burst: expected --per-second as well');
  }
  const { keysPerHourMax, keysPerHourDefault } = limits.idempotency;
  const keysOption = '--idempotency-keys-per-hour';
  const keys = numberOrNone(keysOption, options.idempotencyKeysPerHour, 'default', 0, keysPerHourMax);
  const weight = numberOrNone('--weight', options.weight, 'default', 1, accountWeightMax);
  const settings = await settingsAfter(id, {
    otpShortCodes: yesOrNo('--otp-short-codes', options.otpShortCodes),
    weight: weight === null ? 1 : weight,
    rate: typeof perSecond === 'number' ? { perSecond, burst: burst ?? perSecond } : perSecond,
    idempotencyKeysPerHour: keys,
  });
  const { rate, otpShortCodes: short } = settings;
  const keysPerHour = settings.idempotencyKeysPerHour ?? keysPerHourDefault;
  const rateLimit = rate === null ? null : { per_second: rate.perSecond, burst: rate.burst };
  const json = { rate_limit: rateLimit, idempotency_keys_per_hour: keysPerHour, weight: settings.weight };
  return shown(id, { ...json, otp_short_codes: short }, [
    `requests a second     ${rate === null ? 'no limit' : `${rate.perSecond}, ${rate.burst} at once`}`,
    `idempotency keys/h    ${keysPerHour}`,
    `weight in a lane      ${settings.weight}`,
    `OTP of 4 or 5 digits  ${short ? 'allowed' : 'not allowed'}`,
  ]);
}

/** Also the way out for an account whose own list excludes all its clients. */
export async function accountNetworks(id: string, { allow }: { allow?: string }): Promise<Result> {
  const { ipAllowlist } = await settingsAfter(id, allow === undefined ? {} : { ipAllowlist: networksOf(allow) });
  return shown(id, { ip_allowlist: ipAllowlist }, ipAllowlist.length === 0 ? ['no restriction'] : ipAllowlist);
}

function networksOf(text: string): readonly string[] {
  if (text === 'any') return [];
  const networks = text.split(',').map((each) => each.trim());
  if (networks.length > limits.access.networksMax) {
    throw new SetupError(`--allow: expected at most ${limits.access.networksMax} networks`);
  }
  for (const each of networks) {
    const problem = networkProblem(each);
    if (problem !== null) throw new SetupError(`--allow: found "${each}": ${problem}`);
  }
  return networks;
}

export async function resendUnknown(id: string, options: { categories?: string }): Promise<Result> {
  const wanted = options.categories === 'none' ? [] : categoriesOf(options.categories);
  const change = wanted === null ? {} : { resendUnknown: categories.filter((each) => wanted.includes(each)) };
  const settings = await settingsAfter(id, change);
  const all = categories.map((each) => [each, settings.resendUnknown.includes(each)] as const);
  return shown(
    id,
    { resend_unknown: Object.fromEntries(all) },
    all.map(([each, again]) => `unknown ${each.padEnd(13)}  ${again ? 'sent once more' : 'not sent again'}`),
  );
}

/** The account can set the same with PATCH /v1/account/settings. */
export async function setInbound(id: string, options: { keepText?: string; helpText?: string }): Promise<Result> {
  const { helpText } = options;
  const keepInboundText = yesOrNo('--keep-text', options.keepText);
  const charsMax = limits.inbound.replyCharsMax;
  if (helpText !== undefined && (helpText === '' || helpText.length > charsMax)) {
    throw new SetupError(`--help-text: expected 1 to ${charsMax} characters, or none`);
  }
  const { keepInboundText: keep, helpText: help } = await settingsAfter(id, {
    keepInboundText,
    helpText: helpText === 'none' ? null : helpText,
  });
  return shown(id, { inbound: { keep_text: keep, help_text: help } }, [
    `text of subscribers’ messages  ${keep ? 'kept, encrypted' : 'not kept'}`,
    `answer to HELP                 ${help ?? 'the default of the country'}`,
  ]);
}

/** Fields that are undefined stay as they are. */
async function settingsAfter(id: string, change: Partial<AccountSettings>): Promise<AccountSettings> {
  const accountId = accountIdOf(id);
  const settings = await withStore((store) => changeAccountSettings(store, accountId, change));
  if (settings === null) throw accountNotFound(id);
  return settings;
}

const shown = (id: string, settings: Result['json'], lines: readonly string[]): Result => ({
  json: { id, object: 'account', ...settings },
  lines: [`Account  ${id}`, ...lines.map((line) => `  ${line}`)],
});

/** undefined: unchanged · null: removes the value. */
function numberOrNone(option: string, text: string | undefined, none: string, min: number, max: number) {
  if (text === undefined) return undefined;
  return text === none ? null : wholeNumber(option, text, min, max, `, or ${none}`);
}
