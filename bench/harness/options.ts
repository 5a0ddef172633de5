// The options of a bench, read from the words of the command line. Each has one form for all benches; a word that the bench
// does not take is refused with those it does.
import { parseArgs } from 'node:util';
import type { AnyBench, OptionName, OptionValues } from './bench.ts';

type Form<Value> = {
  /** What follows the name in --help; empty: nothing does. */
  readonly value: string;
  /** Said when `read` gives null. */
  readonly expects: string;
  read(text: string): Value | null;
};

const wholeNumber: Form<number> = {
  value: 'N',
  expects: 'a whole number above 0',
  read: (text) => (/^\d+$/.test(text) && Number(text) > 0 ? Number(text) : null),
};
export const forms: { readonly [Name in OptionName]: Form<NonNullable<OptionValues[Name]>> } = {
  seconds: { value: 'N', expects: 'a number above 0', read: (text) => (Number(text) > 0 ? Number(text) : null) },
  seed: { value: 'N', expects: 'a whole number', read: (text) => (/^-?\d+$/.test(text) ? Number(text) : null) },
  count: wholeNumber,
  rate: wholeNumber,
  contracts: {
    value: 'N,N',
    expects: 'whole numbers above 0, as in 10,100',
    read(text) {
      const all = text.split(',').map((each) => wholeNumber.read(each));
      return all.every((each) => each !== null) ? all : null;
    },
  },
  only: { value: 'NAME,NAME', expects: 'names', read: (text) => text.split(',') },
  webhooks: { value: '', expects: 'no value', read: () => true },
  batch: wholeNumber,
  picture: { value: 'FILE', expects: 'the name of a file', read: (text) => (text === '' ? null : text) },
};
export const optionNames = Object.keys(forms) as OptionName[];

/** By name, as written; true for an option without a value. */
export type Given = Readonly<Record<string, string | boolean | undefined>>;

/** The words of the command line, of which nothing is judged yet. */
export function wordsOf(args: readonly string[]): { readonly names: readonly string[]; readonly given: Given } {
  const types = optionNames.map((name) => {
    return [name, { type: forms[name].value === '' ? ('boolean' as const) : ('string' as const) }] as const;
  });
  const flags = { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const;
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    strict: false,
    options: { ...Object.fromEntries(types), ...flags },
  });
  return { names: positionals, given: values };
}

/** All options of `bench`; those that are not in `given` have their defaults. */
export function valuesOf({ options }: AnyBench, given: Partial<OptionValues> = {}): OptionValues {
  const values: Record<string, unknown> = {};
  for (const name of optionNames) {
    const option = options[name];
    // An option that the bench does not describe has no value, and its type does not let it read one.
    if (option === undefined) values[name] = null;
    else values[name] = given[name] ?? ('parts' in option ? Object.keys(option.parts) : option.default);
  }
  for (const name of optionNames) {
    const value = values[name];
    if (typeof value === 'function') values[name] = value(values);
  }
  return values as OptionValues;
}

/** The options for this bench, or one sentence about what is wrong. */
export function optionsOf(name: string, bench: AnyBench, given: Given): OptionValues | { readonly wrong: string } {
  const taken = optionNames.filter((each) => bench.options[each] !== undefined);
  const read: Record<string, unknown> = {};
  for (const [word, text] of Object.entries(given)) {
    if (word === 'json' || word === 'help') continue;
    const option = taken.find((each) => each === word);
    if (option === undefined) {
      const known = [...taken, 'json', 'help'].map((each) => `--${each}`).join(', ');
      return { wrong: `--${word} means nothing to the bench ${name}, which takes ${known}` };
    }
    const form = forms[option];
    const isForm = (typeof text === 'string') === (form.value !== '');
    const value = isForm ? form.read(typeof text === 'string' ? text : '') : null;
    const found = typeof text === 'string' ? `; found "${text}"` : '';
    if (value === null) return { wrong: `--${option} expects ${form.expects}${found}` };
    read[option] = value;
  }
  const values = valuesOf(bench, read);
  const parts = Object.keys(bench.options.only?.parts ?? {});
  const unknown = (values.only ?? []).filter((part) => !parts.includes(part));
  if (unknown.length > 0) return { wrong: `--only expects some of ${parts.join(', ')}; found ${unknown.join(', ')}` };
  return values;
}
