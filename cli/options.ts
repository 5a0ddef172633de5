// Parses options and arguments that several commands take; throws a SetupError that says what is expected.
import { type AccountId, isAccountId } from '../model/ids.ts';
import { type Category, categories } from '../model/message.ts';
import { SetupError } from '../platform/errors.ts';

export function wholeNumber(option: string, text: string, min: number, max: number, or = ''): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new SetupError(`${option}: found "${text}", expected a whole number from ${min} to ${max}${or}`);
}

/** `option`: the option's name; '' for an argument. */
export function accountIdOf(text: string, option = ''): AccountId {
  if (isAccountId(text)) return text;
  throw new SetupError(`${option === '' ? '' : `${option}: `}found "${text}", expected an account id (acc_…)`);
}

/** Parses --limit. */
export const limitOf = (text: string | undefined, usual: number, max: number): number =>
  text === undefined ? usual : wholeNumber('--limit', text, 1, max);

/** Undefined without the option. */
export function yesOrNo(option: string, text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (text === 'yes' || text === 'no') return text === 'yes';
  throw new SetupError(`${option}: found "${text}", expected yes or no`);
}

/** A list with commas. */
export function someOf<T extends string>(option: string, text: string, known: readonly T[], expected = 'some of'): T[] {
  return text.split(',').map((each) => {
    const name = each.trim();
    const found = known.find((one) => one === name);
    if (found !== undefined) return found;
    throw new SetupError(`${option}: found "${name}", expected ${expected} ${known.join(', ')}`);
  });
}

/** Parses --categories; null without it. */
export const categoriesOf = (text: string | undefined): readonly Category[] | null =>
  text === undefined ? null : someOf('--categories', text, categories);
