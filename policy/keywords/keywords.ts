// Recognises a keyword in a subscriber's message, and composes the text of its answer. Only the whole message counts,
// apart from case, punctuation, blanks and invisible characters: "stop by at five" is not an opt-out. Pure.
import { type Keyword, keywords } from '../../model/keyword.ts';
import { limits } from '../../platform/limits.ts';
import type { KeywordRules } from '../country/contract.ts';

export type KeywordFound = { readonly keyword: Keyword; readonly language: string };
export type KeywordReader = (text: string) => KeywordFound | null;

/** Longer than any keyword with the punctuation around it. */
const textUnitsMax = 120;

/** A word in two lists is read as the first of stop, start, help: in doubt it opts out. */
export function keywordReader(rules: KeywordRules): KeywordReader {
  const found = new Map<string, KeywordFound>();
  for (const keyword of keywords) {
    for (const [language, words] of Object.entries(rules[keyword])) {
      for (const word of words) {
        const form = keywordForm(word);
        if (form !== '' && !found.has(form)) found.set(form, { keyword, language });
      }
    }
  }
  return (text) => (text.length > textUnitsMax ? null : (found.get(keywordForm(text)) ?? null));
}

/** The form in which texts and keywords are compared. */
export function keywordForm(text: string): string {
  return (
    text
      // Full-width letters, ligatures and two ways to write one Bengali letter.
      .normalize('NFKC')
      // Marks that only shape what is shown: joiners, direction marks, variation selectors.
      .replace(/[\p{Cf}\p{Cc}\uFE00-\uFE0F]/gu, (mark) => (/\s/.test(mark) ? ' ' : ''))
      .replace(/[\p{P}\p{S}]/gu, '')
      .toLowerCase()
      // What remains of a Turkish İ.
      .replaceAll('\u0307', '')
      .toUpperCase()
      .replace(/\s+/gu, ' ')
      .trim()
      // Marks after a removed sign may be adjacent now, and compose.
      .normalize('NFKC')
  );
}

export type ReplyAccount = { readonly name: string; readonly helpText?: string | null };

/** The account's own text, else the country's in the language of the keyword; null where there is none. */
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
