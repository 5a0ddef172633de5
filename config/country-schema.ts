// The schema of `country` in heliograph.yaml and of country packs: a pack has all keys, heliograph.yaml overrides some.
// The result is one country with all references checked.
import { z } from 'zod';
import { categories } from '../model/message.ts';
import { limits } from '../platform/limits.ts';
import type { CountryRules, QuietRule } from '../policy/country/contract.ts';
import { carrierName, listOf, mapOf, oneOf, pattern, whole, words, yesOrNo } from './fields.ts';

/** Reads a pack by name or file; null when there is none. Throws BadConfiguration when it is invalid. */
export type PackReader = (pack: string) => PackFile | null;

/** The country's rules with all defaults, and the pack they came from. */
export type CountryConfig = Required<CountryRules> & {
  readonly pack: string | null;
  readonly name: string;
  /** Carrier names of the pack → ours; null: none of ours. */
  readonly carrierNames: Readonly<Record<string, string | null>>;
};

/** The value of `country`: complete, or a pack with some keys changed. */
export function countrySchema(readPack: PackReader) {
  return z.unknown().transform((value, context): CountryConfig => {
    const wantsPack = typeof value === 'object' && value !== null && 'pack' in value;
    const parsed = (wantsPack ? packedSchema : packSchema).safeParse(value);
    if (!parsed.success) {
      for (const issue of parsed.error.issues) context.issues.push({ ...issue, input: value } as never);
      return nowhere();
    }
    const own = parsed.data as OwnFile;
    const pack = own.pack === undefined ? {} : readPack(own.pack);
    if (pack === null) {
      context.addIssue({ code: 'custom', path: ['pack'], message: 'bd, fr, … or a file that ends with .yaml' });
      return nowhere();
    }
    const country = countryOf(pack, own);
    for (const { path, message } of problemsIn(country, pack, own)) {
      context.addIssue({ code: 'custom', path, message });
    }
    return country;
  });
}

const prefix = pattern(/^\d{1,10}$/, 'the first digits of a national number, in quotes');
const lengths = listOf(whole(4, 14), 11, 1);
const date = pattern(/^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/, 'a date such as "2027-01-31"').refine(
  (text) => new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text),
  { error: 'a date that exists' },
);
const timeZone = words(1, 64, 'a time zone such as Asia/Dhaka').refine(isTimeZone, {
  error: 'a time zone such as Asia/Dhaka',
});
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
const hours = pattern(
  /^([01]\d|2[0-3]):[0-5]\d-(([01]\d|2[0-3]):[0-5]\d|24:00)$/,
  'hours such as "20:00-08:00" or "00:00-24:00"',
);
const category = z.enum(categories, { error: `one of ${categories.join(', ')}` });
const language = pattern(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'a language such as en or bn');
const keywords = z.record(language, listOf(words(1, 30), 50), { error: 'a map of language to words' }).default({});
const reply = z.record(language, words(1, limits.inbound.replyCharsMax), { error: 'a map of language to text' });

const quietRule = mapOf({
  categories: listOf(category, categories.length, 1),
  closed: listOf(hours, 16, 1),
  days: listOf(oneOf(weekdays), 7, 1).default([...weekdays]),
  dates: listOf(date, 1_000).default([]),
  from: date.nullable().default(null),
  until: date.nullable().default(null),
  time_zone: timeZone.optional(),
});

/** Optional keys of both a pack and heliograph.yaml. */
const shared = {
  trunk_prefix: pattern(/^\d{0,4}$/, 'at most four digits in quotes').optional(),
  lengths_by_prefix: z.record(prefix, lengths, { error: 'a map of national prefix to lengths' }).optional(),
  time_zone: timeZone.optional(),
  quiet_hours: listOf(quietRule, 200).optional(),
  categories: z
    .partialRecord(category, mapOf({ do_not_disturb: yesOrNo }), { error: 'a map of category to its rules' })
    .optional(),
  do_not_disturb: mapOf({
    default: words(1, 30),
    preferences: z.record(pattern(/^[a-z0-9_-]{1,30}$/, 'a word of a-z, 0-9, _ and -'), listOf(category, 3, 1), {
      error: 'a map of preference to categories',
    }),
  }).optional(),
  keywords: mapOf({
    stop: keywords,
    start: keywords,
    help: keywords,
    scope: oneOf(['sender', 'account']).default('sender'),
    replies: mapOf({ stop: reply.optional(), start: reply.optional(), help: reply.optional() }).default({}),
  }).optional(),
};
const numbering = {
  name: words(1, 80),
  calling_code: pattern(/^\+[1-9]\d{0,2}$/, 'a calling code in quotes, such as "+880"'),
  national_lengths: lengths,
};
const toCarriers = z.record(prefix, carrierName, { error: 'a map of national prefix to carrier name' });

/** A pack, or a whole country in heliograph.yaml. A pack has its own carrier names: `carriers` maps them to the operator's. */
export const packSchema = mapOf({ ...numbering, prefixes: toCarriers, ...shared });
export type PackFile = z.infer<typeof packSchema>;
const packedSchema = mapOf({
  pack: words(1, 255, 'bd, fr, … or a file that ends with .yaml'),
  carriers: z
    .record(carrierName, carrierName.nullable(), { error: 'a map of the carriers of the pack to yours' })
    .default({}),
  name: numbering.name.optional(),
  calling_code: numbering.calling_code.optional(),
  national_lengths: lengths.optional(),
  prefixes: toCarriers.optional(),
  ...shared,
});
type OwnFile = Partial<PackFile> & { pack?: string; carriers?: Record<string, string | null> };

function countryOf(pack: Partial<PackFile>, own: OwnFile): CountryConfig {
  const { prefixes, carriers = {}, ...changed } = own;
  const file = { ...pack, ...changed };
  const zone = file.timeZone ?? 'UTC';
  const rules = file.doNotDisturb;
  return {
    pack: own.pack ?? null,
    name: file.name ?? '',
    callingCode: file.callingCode ?? '',
    nationalLengths: file.nationalLengths ?? [],
    prefixes: { ...mapped(pack.prefixes ?? {}, carriers), ...prefixes },
    carrierNames: carriers,
    lengthsByPrefix: file.lengthsByPrefix ?? {},
    trunkPrefix: file.trunkPrefix ?? '',
    quietHours: (file.quietHours ?? []).map((each) => quietRuleOf(each, zone)),
    doNotDisturb: {
      appliesTo: categories.filter((each) => file.categories?.[each]?.doNotDisturb === true),
      preferences: rules?.preferences ?? { promotional: ['promotional'] },
      defaultPreference: rules?.default ?? 'promotional',
    },
    keywords: file.keywords ?? { stop: {}, start: {}, help: {} },
  };
}

/** A placeholder after an error: zod still builds the rest of the configuration before it is refused. */
const nowhere = () => countryOf({}, { name: '', callingCode: '+0', nationalLengths: [4] });

/** null drops a carrier of the pack; one that is not mentioned keeps its name. */
function mapped(prefixes: Record<string, string>, carriers: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(prefixes).flatMap(([first, name]) => {
      const carrier = Object.hasOwn(carriers, name) ? carriers[name] : name;
      return carrier === null || carrier === undefined ? [] : [[first, carrier]];
    }),
  );
}

function quietRuleOf({ timeZone = '', days, closed, ...rule }: z.infer<typeof quietRule>, zone: string): QuietRule {
  return {
    ...rule,
    timeZone: timeZone || zone,
    days: days.map((day) => weekdays.indexOf(day)),
    closed: closed.map((text) => {
      const [start = '', end = ''] = text.split('-');
      return { startMinute: minutesOf(start), endMinute: minutesOf(end) };
    }),
  };
}

function minutesOf(time: string): number {
  const [hour, minute] = time.split(':').map(Number);
  return (hour ?? 0) * 60 + (minute ?? 0);
}

/** Problems with the expected value as `message`; the caller reads the found one from the file. */
function problemsIn(country: CountryConfig, pack: Partial<PackFile>, own: OwnFile) {
  const problems: { path: string[]; message: string }[] = [];
  const packCarriers = [...new Set(Object.values(pack.prefixes ?? {}))];
  for (const name of Object.keys(own.carriers ?? {})) {
    if (packCarriers.includes(name)) continue;
    problems.push({ path: ['carriers', name], message: `a carrier of the pack: ${packCarriers.join(', ')}` });
  }
  const { defaultPreference, preferences } = country.doNotDisturb;
  if (!Object.hasOwn(preferences, defaultPreference)) {
    problems.push({
      path: ['do_not_disturb', 'default'],
      message: `one of the preferences ${Object.keys(preferences).join(', ')}`,
    });
  }
  return problems;
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
