// Puts the values of parameters into a statement as constants. For answers that chDB makes beside others: its bound
// parameters belong to the process, and those of statements that run at the same time overwrite each other. A text is
// written by its octets in hexadecimal, so that nothing in it can be read as SQL.
import { assert } from '../../platform/assert.ts';

type Value = string | number | boolean | readonly string[];

/** `{name:Type}` becomes the value of `name`; throws for a name without a value and for a value that no such type has. */
export function withLiterals(sql: string, params: Readonly<Record<string, Value>>): string {
  return sql.replaceAll(/\{(\w+):([\w()]+)\}/g, (_, name: string, type: string) => {
    const value = params[name];
    assert(value !== undefined, `a value for the parameter ${name}`);
    return `CAST(${literalOf(value)}, '${type}')`;
  });
}

function literalOf(value: Value): string {
  if (typeof value === 'string') return `unhex('${Buffer.from(value).toString('hex')}')`;
  if (typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `[${value.map((each: string) => literalOf(each)).join(', ')}]`;
  assert(Number.isSafeInteger(value), 'a whole number');
  return String(value);
}
