// What a reload of heliograph.yaml has changed, for the audit log: each setting by its name, with its value before and after. Long
// values are digests, of long lists with what was added and removed. Passwords are left out, and of whole phone numbers the
// end. Pure.
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { shortenedPrefix } from '../model/e164.ts';
import { snakeCase } from '../platform/letter-case.ts';
import type { OtpLimit } from '../policy/otp/contract.ts';
import type { Configuration } from './configuration.ts';
import { otpLimitText } from './otp-schema.ts';

type Change = {
  readonly from: unknown;
  readonly to: unknown;
  /** Of a list that is too long to be written down. */
  readonly added?: unknown;
  readonly removed?: unknown;
};
type ChangedValues = { readonly [name: string]: Change };

const charsMax = 500;
/** Of one section: beyond it the section is one value. */
const valuesMax = 100;

export function changedValues(before: Configuration, next: Configuration): ChangedValues {
  const changed: [string, Change][] = [];
  for (const key of keysOf(before, next)) {
    if (key === 'carriers') continue;
    const [name, from, to] = [snakeCase(key), before[key as keyof Configuration], next[key as keyof Configuration]];
    const values = [...changesOf(name, from, to)];
    if (values.length > valuesMax) changed.push([name, { from: short(from), to: short(to) }]);
    else changed.push(...values);
  }
  const carriers = (of: Configuration) => new Map(of.carriers.map((each) => [each.name, each]));
  const [had, has] = [carriers(before), carriers(next)];
  for (const name of new Set([...had.keys(), ...has.keys()])) {
    changed.push(...changesOf(`carriers.${name}`, had.get(name) ?? {}, has.get(name) ?? {}));
  }
  return Object.fromEntries(changed);
}

/** A map is followed to its settings; a list is one setting. */
function* changesOf(name: string, from: unknown, to: unknown): Generator<[string, Change]> {
  if (isDeepStrictEqual(from, to)) return;
  if (isOtpLimit(from) && isOtpLimit(to)) {
    yield [name, { from: otpLimitText(from), to: otpLimitText(to) }];
    return;
  }
  if (isMap(from) && isMap(to)) {
    for (const key of keysOf(from, to)) {
      const isNameOfCarrier = key === 'name' && name.startsWith('carriers.');
      if (!isNameOfCarrier) yield* changesOf(`${name}.${inFile(name, key)}`, from[key], to[key]);
    }
    return;
  }
  const [had, has] = [shown(name, from), shown(name, to)];
  yield [name, { from: short(had), to: short(has), ...differenceOf(had, has) }];
}

/** What the audit log may have of a value. */
function shown(name: string, value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  if (name.endsWith('.binds')) return value.map((bind: object) => ({ ...bind, password: undefined }));
  return name.endsWith('.safe_list') ? value.map(shortenedPrefix) : value;
}

function differenceOf(from: unknown, to: unknown): Pick<Change, 'added' | 'removed'> {
  if (!Array.isArray(from) || !Array.isArray(to) || (isShort(from) && isShort(to))) return {};
  const without = (all: unknown[], others: unknown[]) =>
    short(all.filter((each) => !others.some((other) => isDeepStrictEqual(each, other))));
  return { added: without(to, from), removed: without(from, to) };
}

const textOf = (value: unknown) => JSON.stringify(value) ?? 'null';
const isShort = (value: unknown) => textOf(value).length <= charsMax;

function short(value: unknown): unknown {
  return isShort(value) ? (value ?? null) : `sha256:${createHash('sha256').update(textOf(value)).digest('hex')}`;
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isOtpLimit = (value: unknown): value is OtpLimit =>
  isMap(value) && typeof value['count'] === 'number' && typeof value['perMs'] === 'number';

const keysOf = (one: object, other: object) => new Set([...Object.keys(one), ...Object.keys(other)]);

/** Times keep their unit in the name: some are seconds in the file and milliseconds here. */
const inFile = (section: string, key: string) =>
  section === 'otp.guard' && key === 'modes' ? 'rules' : snakeCase(key);
