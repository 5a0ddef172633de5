// The value types of heliograph.yaml, each with the text that states what was expected. Unknown keys are refused, so
// that a misspelt key is not silently replaced by its default.
import { z } from 'zod';
import { camelFields } from '../platform/letter-case.ts';

/** Every known key, for the hint about an unknown one. */
export const keysAll = new Set<string>();

const number = new Intl.NumberFormat('en-US');
export const whole = (min: number, max: number) => {
  const error = `a whole number from ${number.format(min)} to ${number.format(max)}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
};
export const words = (min: number, max: number, error = `text of ${min} to ${max} characters`) =>
  z.string({ error }).min(min, { error }).max(max, { error });
export const pattern = (form: RegExp, error: string) => z.string({ error }).regex(form, { error });
export const textThat = (fits: (text: string) => boolean, error: string) => z.string({ error }).refine(fits, { error });
export const numberFrom = (min: number, max: number, error: string) =>
  z.number({ error }).min(min, { error }).max(max, { error });
export const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, { error: `one of ${values.join(', ')}` });
export const listOf = <T extends z.ZodType>(item: T, max: number, min = 0) => {
  const error = min === 0 ? `a list of at most ${max} entries` : `a list of ${min} to ${max} entries`;
  return z.array(item, { error }).min(min, { error }).max(max, { error });
};
export const yesOrNo = z.boolean({ error: 'true or false' });
/** A map whose keys stay as they are, so that a check of several keys can name them. */
export const rawMapOf = <T extends z.ZodRawShape>(shape: T) => {
  const keys = Object.keys(shape);
  for (const key of keys) keysAll.add(key);
  const expected = `keys such as ${keys.slice(0, 3).join(', ')}`;
  return z.strictObject(shape, { error: (issue) => (issue.code === 'invalid_type' ? expected : undefined) });
};
/** A map with one value of a kind for each of these names. */
export const eachOf = <Name extends string, T extends z.ZodType>(names: readonly Name[], valueOf: (name: Name) => T) =>
  rawMapOf(Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Name, T>);
/** true, false or a map. Of a map its own problems are reported. */
export const switchOr = <T extends z.ZodType>(map: T, error: string) =>
  z.union([z.boolean(), map], {
    error: ({ input }) => (typeof input === 'object' && input !== null && !Array.isArray(input) ? undefined : error),
  });
/** `calling_code` in the file is `callingCode` in the result. */
export const mapOf = <T extends z.ZodRawShape>(shape: T) => rawMapOf(shape).transform(camelFields);
export const carrierName = pattern(/^[a-z][a-z0-9-]{0,31}$/, 'a name of a-z, 0-9 and -, at most 32 characters');
