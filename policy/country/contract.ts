// The rules of one country for the gates: numbers, quiet hours, do-not-disturb, keywords. Types only. They come from a
// country pack (policy/country/packs) and heliograph.yaml; no code depends on a particular country.
import type { Keyword } from '../../model/keyword.ts';
import type { Category } from '../../model/message.ts';

export type CountryRules = {
  /** With the plus sign: `+880`. */
  readonly callingCode: string;
  /** How many digits a number may have after the calling code. */
  readonly nationalLengths: readonly number[];
  /** First national digits → configured carrier; the longest prefix wins. */
  readonly prefixes: Readonly<Record<string, string>>;
  /** Where the lengths differ: first national digits → lengths; the longest prefix wins. */
  readonly lengthsByPrefix?: Readonly<Record<string, readonly number[]>>;
  /** What is dialled before a national number inside the country, as in 01712…; empty when nothing is. */
  readonly trunkPrefix?: string;
  readonly quietHours?: readonly QuietRule[];
  readonly doNotDisturb?: DoNotDisturbRules;
  readonly keywords?: KeywordRules;
};

/** A time in which a category is not sent. */
export type QuietRule = {
  readonly categories: readonly Category[];
  /** IANA name: `Asia/Dhaka`. */
  readonly timeZone: string;
  /** Local dates, YYYY-MM-DD: in effect from the first and before the second; null is open-ended. */
  readonly from: string | null;
  readonly until: string | null;
  /** 0 is Sunday. Ignored when `dates` are given. */
  readonly days: readonly number[];
  /** Local dates, YYYY-MM-DD: holidays. Empty: the rule applies on `days`. */
  readonly dates: readonly string[];
  /** Minutes after local midnight. A window whose end is not after its start continues into the next day. */
  readonly closed: readonly { readonly startMinute: number; readonly endMinute: number }[];
};

export type DoNotDisturbRules = {
  /** The categories that the registry is checked for. */
  readonly appliesTo: readonly Category[];
  /** The words a registry file uses for what a number does not want → categories. */
  readonly preferences: Readonly<Record<string, readonly Category[]>>;
  /** The preference of a row that names none; a key of `preferences`. */
  readonly defaultPreference: string;
};

/** Words a subscriber may answer with, by language (BCP 47), in upper case. */
export type KeywordRules = {
  readonly stop: Readonly<Record<string, readonly string[]>>;
  readonly start: Readonly<Record<string, readonly string[]>>;
  readonly help: Readonly<Record<string, readonly string[]>>;
  /** What an opt-out covers: the number it was sent to, or every sender of the account. */
  readonly scope?: 'sender' | 'account';
  /** Answers by language, with {account} and {sender}; a keyword without one is not answered. */
  readonly replies?: Readonly<Partial<Record<Keyword, Readonly<Record<string, string>>>>>;
};
