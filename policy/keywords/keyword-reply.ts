// The answer to a keyword: the account's own text, else the country's in the language of the keyword; null where
// there is none. Pure.
import { limits } from '../../platform/limits.ts';
import type { KeywordRules } from '../country/contract.ts';
import type { KeywordFound } from './keyword-reader.ts';

export type ReplyAccount = { readonly name: string; readonly helpText?: string | null };

export function keywordReply(
  rules: KeywordRules,
  { keyword, language }: KeywordFound,
  account: ReplyAccount,
  sender: string,
): string | null {
  const own = keyword === 'help' ? (account.helpText ?? '') : '';
  const ofCountry = rules.replies?.[keyword] ?? {};
  const template = own === '' ? (ofCountry[language] ?? Object.values(ofCountry)[0] ?? '') : own;
  if (template === '') return null;
  const text = template.replaceAll('{account}', account.name).replaceAll('{sender}', sender);
  return text.slice(0, limits.inbound.replyCharsMax).toWellFormed();
}
