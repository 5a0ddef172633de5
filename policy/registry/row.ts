// Parses one line of a registry file into an entry, or says what is wrong. Files come from regulators and carriers, so
// numbers may be in national notation; an ambiguous one is refused. Pure.
import { nationalLengths } from '../country/number-plan.ts';
import type { CountryRules } from '../country/contract.ts';
import { numberKey, packEntry } from './number-table.ts';

export type Row =
  /** Packed as in number-table.ts; mark 0 removes the number from the registry. */
  | { readonly kind: 'entry'; readonly entry: number }
  | { readonly kind: 'empty' }
  /** A valid number that is not served here: another country, a fixed line. */
  | { readonly kind: 'not_served' }
  | { readonly kind: 'bad'; readonly why: string };

export type Columns = { readonly number: number; readonly value: number; readonly change: number };

export type RowRules = {
  readonly country: Pick<CountryRules, 'callingCode' | 'nationalLengths' | 'lengthsByPrefix' | 'trunkPrefix'>;
  /** Rows begin with + or −. */
  readonly delta: boolean;
  /** The mark for the value after the number ('' when there is none); a sentence when it is unknown. */
  readonly markOf: (value: string) => number | string;
};

/** The columns without a heading: [+ or −,] number [, value]. */
export function usualColumns(delta: boolean): Columns {
  return delta ? { change: 0, number: 1, value: 2 } : { change: -1, number: 0, value: 1 };
}

/** The first line without a byte order mark, read as UTF-8 or as Latin-1. */
export function withoutMark(line: string): string {
  return line.replace(/^\uFEFF|^\u00EF\u00BB\u00BF/, '');
}

/**
 * The columns by their names, or null when the line is no heading. `why`: it is the heading of another kind of file; a
 * list of changes imported as a snapshot would list the numbers that it removes.
 */
export function headingOf(line: string, delta: boolean): Columns | { readonly why: string } | null {
  const names = fieldsOf(line).map((name) => name.trim().toLowerCase());
  const placeOf = (...wanted: string[]) => names.findIndex((name) => wanted.includes(name));
  const number = placeOf('number', 'msisdn', 'phone', 'phone_number');
  if (number === -1) return null;
  const change = placeOf('change', 'op', 'operation');
  if (change !== -1 && !delta) {
    return { why: `its heading has a column "${names[change]}": it lists changes, so add --delta` };
  }
  if (change === -1 && delta) {
    return { why: 'its heading has no column "change" with + or -: a full list is imported without --delta' };
  }
  return { number, value: placeOf('preferences', 'preference', 'carrier'), change };
}

export function rowReader(rules: RowRules, columns: Columns): (line: string) => Row {
  const nationalOf = nationalReader(rules.country);
  return (line) => {
    if (line.trim() === '') return { kind: 'empty' };
    const fields = fieldsOf(line);
    let mark: number | string = 0;
    const change = columns.change === -1 ? '' : (fields[columns.change] ?? '').trim();
    if (rules.delta && change !== '+' && change !== '-') return bad('the row must begin with + or - and a comma');
    const number = (fields[columns.number] ?? '').trim();
    const national = nationalOf(number);
    if (national === null) return bad(whyNoNumber(number, rules.delta));
    if (change !== '-') {
      mark = rules.markOf(columns.value === -1 ? '' : (fields[columns.value] ?? '').trim());
      if (typeof mark === 'string') return bad(mark);
    }
    if (national === '') return { kind: 'not_served' };
    // A row without preferences is no entry; in a delta it removes the entry.
    if (mark === 0 && !rules.delta) return { kind: 'empty' };
    return { kind: 'entry', entry: packEntry(numberKey(national), mark) };
  };
}

/** Mistakes that affect every row of a file have their own sentences. */
function whyNoNumber(text: string, delta: boolean): string {
  if (!delta && (text === '+' || text === '-')) return 'begins with + or -, as rows of changes do: add --delta';
  return /[;\t]/.test(text) ? 'not a phone number: columns must be separated by commas' : 'not a phone number';
}

/** Digits after the calling code; '' for a number that is not served; null for what is no number. */
function nationalReader(country: RowRules['country']): (text: string) => string | null {
  const code = country.callingCode.slice(1);
  const trunk = country.trunkPrefix ?? '';
  const lengthsOf = nationalLengths({ ...country, prefixes: {} });
  const isServed = (national: string) => lengthsOf(national, 0).includes(national.length);

  return (text) => {
    let digits = plainDigits.test(text) ? text : text.replaceAll(/[\s().-]/g, '');
    let isInternational = false;
    if (digits.startsWith('+')) [digits, isInternational] = [digits.slice(1), true];
    else if (digits.startsWith('00')) [digits, isInternational] = [digits.slice(2), true];
    if (!plainDigits.test(digits) || digits.length < digitsMin || digits.length > digitsMax) return null;
    if (isInternational) {
      const national = digits.startsWith(code) ? digits.slice(code.length) : '';
      return isServed(national) ? national : '';
    }
    if (isServed(digits)) return digits;
    if (trunk !== '' && digits.startsWith(trunk) && isServed(digits.slice(trunk.length))) {
      return digits.slice(trunk.length);
    }
    if (digits.startsWith(code) && isServed(digits.slice(code.length))) return digits.slice(code.length);
    return '';
  };
}

const plainDigits = /^[0-9]+$/;
/** Shorter ones are service codes, longer ones do not exist (ITU-T E.164). */
const digitsMin = 5;
const digitsMax = 15;

function fieldsOf(line: string): string[] {
  if (!line.includes('"')) return line.split(',');
  const fields: string[] = [];
  for (const [, quoted, plain] of line.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?=,|$)/g)) {
    fields.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
  }
  return fields;
}

function bad(why: string): Row {
  return { kind: 'bad', why };
}
