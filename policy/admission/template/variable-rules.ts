// What a variable may contain, by type: one rule for rendering and for recognising. A "number" or "date" must be one:
// otherwise a telephone number or a password could be sent in an approved text.
import { limits } from '../../../platform/limits.ts';

export const variableTypes = ['text', 'number', 'code', 'url', 'date'] as const;
export type VariableType = (typeof variableTypes)[number];

export type TemplateVariable = {
  readonly name: string;
  readonly type: VariableType;
  /** text: the maximum of characters. code: its exact number of digits. Unused otherwise. */
  readonly size?: number | null;
};

export type Rule = {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly expected: string;
  /** A value starts at such a position and is a run of such characters. */
  isChar(code: number): boolean;
  mayStart(text: string, at: number): boolean;
  /** Where isChar is not enough: every position after `at` where a value that begins there may end, `max` at most. */
  readonly endsOf?: (text: string, at: number) => readonly number[];
};

export function fits(rule: Rule, value: string): boolean {
  if (value.length < rule.min || value.length > rule.max || !rule.mayStart(value, 0)) return false;
  if (rule.endsOf !== undefined) return rule.endsOf(value, 0).includes(value.length);
  for (let at = 0; at < value.length; at += 1) if (!rule.isChar(value.charCodeAt(at))) return false;
  return value.isWellFormed();
}

/** What was found instead, without quoting it: it may be a name or a password. */
export function foundInstead({ max }: Rule, value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'string') return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
  if (value === '') return 'an empty text';
  return value.length > max ? `${value.length} characters` : 'something else';
}

export function ruleOf({ name, type, size }: TemplateVariable): Rule {
  const { textCharsDefault, codeDigitsDefault, urlCharsMax } = limits.templates;
  const anywhere = () => true;
  switch (type) {
    case 'text': {
      const max = size ?? textCharsDefault;
      const isChar = (code: number) => code >= 32 && code !== 127;
      const expected = `a text of 1 to ${max} characters on one line`;
      return { name, min: 1, max, isChar, mayStart: anywhere, expected };
    }
    case 'number':
      return {
        name,
        min: 1,
        max: numberCharsMax,
        isChar: isNumberChar,
        mayStart: (text, at) => isDigit(text.charCodeAt(at)) || (text[at] === '-' && isDigit(text.charCodeAt(at + 1))),
        endsOf: endsOfNumber,
        expected: `a number of at most ${numberCharsMax} characters, such as 1,250.00`,
      };
    case 'code': {
      const digits = size ?? codeDigitsDefault;
      const expected = `a code of ${digits} digits, as text`;
      return { name, min: digits, max: digits, isChar: isDigit, mayStart: anywhere, expected };
    }
    case 'url':
      return {
        name,
        min: 'http://a'.length,
        max: urlCharsMax,
        isChar: (code) => code > 32 && code < 127,
        mayStart: (text, at) => text.startsWith('https://', at) || text.startsWith('http://', at),
        expected: `a link that begins with https:// or http://, at most ${urlCharsMax} characters`,
      };
    case 'date':
      return {
        name,
        min: 8,
        max: 10,
        isChar: (code) => isDigit(code) || code === 45 || code === 46 || code === 47,
        mayStart: (text, at) => isDigit(text.charCodeAt(at)),
        endsOf: endsOfDate,
        expected: 'a date of the calendar such as 2026-01-31 or 31.01.2026',
      };
  }
}

const isDigit = (code: number) => code >= 48 && code <= 57;
const isNumberChar = (code: number) => isDigit(code) || code === 44 || code === 46;
const numberCharsMax = 20;

/** Digits, with one comma or dot between two of them at any place: grouping differs between countries. */
function endsOfNumber(text: string, at: number): readonly number[] {
  const ends: number[] = [];
  const from = text[at] === '-' ? at + 1 : at;
  const end = Math.min(text.length, at + numberCharsMax);
  for (let next = from; next < end; next += 1) {
    const code = text.charCodeAt(next);
    if (isDigit(code)) ends.push(next + 1);
    else if (!isNumberChar(code) || next === from || !isDigit(text.charCodeAt(next - 1))) break;
  }
  return ends;
}

function endsOfDate(text: string, at: number): readonly number[] {
  const ends: number[] = [];
  for (let length = 8; length <= 10; length += 1) {
    if (at + length <= text.length && isDate(text.slice(at, at + length))) ends.push(at + length);
  }
  return ends;
}

/** Year first, or last: then day and month in either order, because both are used. */
function isDate(text: string): boolean {
  const found = /^(\d{1,4})([-./])(\d{1,2})\2(\d{1,4})$/.exec(text);
  if (found === null) return false;
  const [, first = '', , second = '', third = ''] = found;
  if (first.length === 4) return third.length <= 2 && isDay(Number(first), Number(second), Number(third));
  if (first.length > 2 || (third.length !== 2 && third.length !== 4)) return false;
  const year = third.length === 4 ? Number(third) : 2_000 + Number(third);
  return isDay(year, Number(second), Number(first)) || isDay(year, Number(first), Number(second));
}

function isDay(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return day <= (month === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31);
}
