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

/** Parses --categories; null without it. */
export function categoriesOf(text: string | undefined): readonly Category[] | null {
  if (text === undefined) return null;
  return text.split(',').map((each) => {
    const category = each.trim() as Category;
    if (categories.includes(category)) return category;
    throw new SetupError(`--categories: found "${category}", expected some of ${categories.join(', ')}`);
  });
}
