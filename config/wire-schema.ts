// The schema of a carrier's PDU settings in heliograph.yaml. The defaults are plain SMPP 3.4. The value of a
// vendor-specific TLV must fit its type, which is checked here.
import { z } from 'zod';
import { nationalLanguages, type NationalLanguage } from '../model/text/national-languages.ts';
import type { CountryConfig } from './country-schema.ts';
import { eachOf, listOf, mapOf, rawMapOf, oneOf, pattern, whole, yesOrNo } from './fields.ts';
import { camelFields } from '../platform/letter-case.ts';
import { addressKinds, tlvSources, tlvTypes, type TlvType, type WireTlvConfig } from './wire.ts';

const languages = Object.keys(nationalLanguages) as [NationalLanguage, ...NationalLanguage[]];
const octet = whole(0, 255);
const kind = mapOf({ ton: whole(0, 6).nullable().default(null), npi: whole(0, 18).nullable().default(null) });

const forms: Readonly<Record<TlvType, { fits: (text: string) => boolean; expected: string }>> = {
  string: printable(),
  cstring: printable(),
  int8: below(8),
  int16: below(16),
  int32: below(32),
  hex: { fits: (text) => /^([0-9a-fA-F]{2}){0,255}$/.test(text), expected: 'pairs of hexadecimal digits' },
};

const tlvValueExpected = { error: 'text or a whole number' };
const tlv = rawMapOf({
  tag: whole(0, 0xffff),
  type: oneOf(tlvTypes).default('string'),
  value: z.union([z.string(), z.int(tlvValueExpected).min(0, tlvValueExpected)], tlvValueExpected).optional(),
  from: oneOf(tlvSources).optional(),
}).transform((each, context) => {
  const { type, value, from } = each;
  const add = (message: string, path: string[]) => context.addIssue({ code: 'custom', message, path });
  if ((value === undefined) === (from === undefined)) add('either value or from', []);
  else if (value !== undefined && !forms[type].fits(String(value))) add(forms[type].expected, ['value']);
  return each;
});

const byCategory = <T extends z.ZodType>(value: T) => ({ otp: value, transactional: value, promotional: value });

/** The keys of a carrier's map. */
export const wireKeys = {
  text: mapOf({
    gsm7: oneOf(['unpacked', 'packed']).default('unpacked'),
    gsm7_data_coding: octet.default(0),
    ucs2_data_coding: octet.default(8),
    latin1: oneOf(['never', 'instead_of_ucs2', 'first']).default('never'),
    latin1_data_coding: octet.default(3),
    concatenation: oneOf(['udh', 'sar', 'message_payload']).default('udh'),
  }).prefault({}),
  /** National shift tables of GSM-7 that the carrier transmits to the handset. */
  national_tables: listOf(oneOf(languages), languages.length).default([]),
  /** TON and NPI of the sender by kind; null keeps those derived from its form. */
  source_rules: eachOf(addressKinds, () => kind.prefault({})).prefault({}),
  destination_format: oneOf(['e164_digits', 'national', 'plus']).default('e164_digits'),
  national_prefix: pattern(/^\d{0,4}$/, 'up to four digits in quotes, such as "0"').default(''),
  validity_period: oneOf(['none', 'relative', 'absolute']).default('relative'),
  priority_flag: mapOf(byCategory(whole(0, 4).default(0))).prefault({}),
  service_type: mapOf(byCategory(pattern(/^[\x21-\x7e]{0,5}$/, 'at most five characters').default(''))).prefault({}),
  /** Replaces the message's registered_delivery; null keeps it. */
  registered_delivery: whole(0, 31).nullable().default(null),
  tlvs: listOf(tlv, 16).default([]),
  /** The carrier supports query_sm: submits with a late response and no receipt are queried. */
  query_sm: yesOrNo.default(false),
  /** The carrier supports cancel_sm: a copy that is not needed any more is cancelled. */
  cancel_sm: yesOrNo.default(false),
};

const wireSchema = z.object(wireKeys).transform(camelFields);
type WireFile = z.infer<typeof wireSchema>;

export type WireConfig = ReturnType<typeof wireOf>;

/** `country`: its numbers have a national form. */
export function wireOf(from: WireFile, country: CountryConfig) {
  const { validityPeriod, priorityFlag, serviceType, registeredDelivery, querySm, cancelSm } = from;
  const { gsm7: gsm7Form, ...text } = from.text;
  return {
    text: { gsm7Form, ...text, nationalTables: from.nationalTables },
    source: from.sourceRules,
    destination: {
      format: from.destinationFormat,
      callingCode: country.callingCode.slice(1),
      nationalPrefix: from.nationalPrefix,
      nationalDigitsMax: Math.max(...[country.nationalLengths, ...Object.values(country.lengthsByPrefix)].flat()),
    },
    tlvs: from.tlvs.map(tlvOf),
    ...{ validityPeriod, priorityFlag, serviceType, registeredDelivery, querySm, cancelSm },
  };
}

function tlvOf({ tag, type, value, from }: WireFile['tlvs'][number]): WireTlvConfig {
  return from === undefined ? { tag, type, value: String(value) } : { tag, type, from };
}

function printable() {
  return {
    fits: (text: string) => text.length <= 255 && /^[\x20-\x7e]*$/.test(text),
    expected: 'at most 255 printable ASCII characters',
  };
}

function below(bits: number) {
  const most = 2 ** bits - 1;
  const fits = (text: string) => /^(\d{1,10}|0x[0-9a-fA-F]{1,8})$/.test(text) && Number(text) <= most;
  return { fits, expected: `a whole number from 0 to ${most}` };
}
