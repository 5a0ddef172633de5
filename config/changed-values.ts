// The changes of a reload for the audit log: short values by name, longer ones as two digests. A changed password
// appears as changed, without its values.
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Configuration } from './configuration.ts';

export type ChangedValues = { readonly [name: string]: { readonly from: unknown; readonly to: unknown } };

const charsMax = 500;

export function changedValues(before: Configuration, next: Configuration): ChangedValues {
  const changed: Record<string, { from: unknown; to: unknown }> = {};
  const compare = (prefix: string, one: object, other: object, left: readonly string[] = []) => {
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
      const [from, to] = [(one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key]];
      if (left.includes(key) || isDeepStrictEqual(from, to)) continue;
      changed[`${prefix}${key}`] = { from: short(withoutSecrets(key, from)), to: short(withoutSecrets(key, to)) };
    }
  };
  compare('', before, next, ['carriers']);
  const carriers = (of: Configuration) => new Map(of.carriers.map((each) => [each.name, each]));
  const [had, has] = [carriers(before), carriers(next)];
  for (const name of new Set([...had.keys(), ...has.keys()])) {
    compare(`carriers.${name}.`, had.get(name) ?? {}, has.get(name) ?? {}, ['name']);
  }
  return changed;
}

function short(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null';
  if (text.length <= charsMax) return value ?? null;
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

function withoutSecrets(key: string, value: unknown): unknown {
  if (key !== 'binds' || !Array.isArray(value)) return value;
  return value.map((bind: object) => ({ ...bind, password: undefined }));
}
