// What a User-Agent says about who clicks, by two lists that others keep: `crawler-user-agents` knows what each program is
// for, `isbot` knows more programs. `ua-parser-js` and `device-detector-js` would know devices too, under licences that
// this project cannot take. Both lists together take a millisecond, so verdicts are remembered.
import crawlers from 'crawler-user-agents';
import { isbot } from 'isbot';
import { limits } from '../../platform/limits.ts';

/** none: it sent none · preview: an app that shows previews of links · bot: another program. */
export type UserAgentKind = 'browser' | 'none' | 'preview' | 'bot';

const known = (crawlers as readonly { readonly pattern: string; readonly tags?: readonly string[] }[]).map(
  ({ pattern, tags = [] }) => ({ pattern: new RegExp(pattern), isPreview: tags.includes('social-preview') }),
);
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
  const matches = known.filter(({ pattern }) => pattern.test(userAgent));
  if (matches.some(({ isPreview }) => isPreview)) return 'preview';
  if (morePreviews.test(userAgent) && !userAgent.startsWith('Mozilla/')) return 'preview';
  return matches.length > 0 || isbot(userAgent) ? 'bot' : 'browser';
}
