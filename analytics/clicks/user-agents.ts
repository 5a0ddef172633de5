// What a User-Agent says about who clicks, by two lists that others keep: `crawler-user-agents` knows what each program is
// for, `isbot` knows more programs. `ua-parser-js` and `device-detector-js` would know devices too, under licences that
// this project cannot take. A client chooses its User-Agent, and may send another one each time: an unknown one
// takes 5 to 50 µs, less than the rest of its click.
import crawlers from 'crawler-user-agents';
import { isbot } from 'isbot';
import { limits } from '../../platform/limits.ts';

/** none: it sent none · preview: an app that shows previews of links · bot: another program. */
export type UserAgentKind = 'browser' | 'none' | 'preview' | 'bot';

/** Apps that show previews and are on neither list as such. */
const morePreviews = /Viber|Telegram|Signal|GoogleMessages|com\.google\.android\.apps\.messaging/;
const { userAgentsHeldMax } = limits.clicks;

export class UserAgents {
  readonly #verdicts = new Map<string, UserAgentKind>();

  kindOf(userAgent: string): UserAgentKind {
    if (userAgent === '') return 'none';
    const before = this.#verdicts.get(userAgent);
    if (before !== undefined) return before;
    const verdict = kindOf(userAgent);
    if (this.#verdicts.size >= userAgentsHeldMax) this.#verdicts.clear();
    this.#verdicts.set(userAgent, verdict);
    return verdict;
  }
}

function kindOf(userAgent: string): UserAgentKind {
  const listed = listedAs(userAgent);
  if (listed === 'preview') return 'preview';
  if (morePreviews.test(userAgent) && !userAgent.startsWith('Mozilla/')) return 'preview';
  return listed === 'bot' || isbot(userAgent) ? 'bot' : 'browser';
}

type Listed = { readonly text: string; readonly isPreview: boolean };

/** The texts of the list, by their first characters: 1,500 searches would take 60 to 300 µs, one expression of all as long. */
const texts = new Map<number, Listed[]>();
/** What is no plain text, or too short. */
const expressions = { preview: [] as string[], bot: [] as string[] };
const startChars = 3;

for (const { pattern, tags = [] } of crawlers as readonly { readonly pattern: string; readonly tags?: string[] }[]) {
  const isPreview = tags.includes('social-preview');
  const text = textOf(pattern);
  if (text === null || text.length < startChars) expressions[isPreview ? 'preview' : 'bot'].push(pattern);
  else texts.set(startAt(text, 0), [...(texts.get(startAt(text, 0)) ?? []), { text, isPreview }]);
}
const [previews, bots] = [expressionOf(expressions.preview), expressionOf(expressions.bot)];

/** By `crawler-user-agents`, where a program that shows previews may be on the list as another one, too. */
function listedAs(userAgent: string): 'preview' | 'bot' | null {
  let isListed = false;
  for (let at = 0; at + startChars <= userAgent.length; at += 1) {
    for (const { text, isPreview } of texts.get(startAt(userAgent, at)) ?? none) {
      if ((isListed && !isPreview) || !userAgent.startsWith(text, at)) continue;
      if (isPreview) return 'preview';
      isListed = true;
    }
  }
  if (previews.test(userAgent)) return 'preview';
  return isListed || bots.test(userAgent) ? 'bot' : null;
}

const none: readonly Listed[] = [];

/** The text that this regular expression matches; null when it matches several. */
function textOf(pattern: string): string | null {
  const plain = pattern.replaceAll(/\\\W/g, '');
  return /[\\^$.*+?()[\]{}|]/.test(plain) ? null : pattern.replaceAll(/\\(\W)/g, '$1');
}

/** Different starts may have one number: the text is compared. */
function startAt(text: string, at: number): number {
  return (text.charCodeAt(at) << 16) ^ (text.charCodeAt(at + 1) << 8) ^ text.charCodeAt(at + 2);
}

function expressionOf(patterns: readonly string[]): RegExp {
  return patterns.length === 0 ? /(?!)/ : new RegExp(patterns.join('|'));
}
