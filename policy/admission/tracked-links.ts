// Shortens the links of a text (`track_clicks`) before it is counted and checked: each http(s) link becomes the address
// of its redirect with a placeholder for the code, which has the length of a code. Which links may be tracked is
// decided here, because a redirect must not lead where a person would not go: no credentials, no IP addresses, no names
// without a domain, no redirects of our own. Reads the text once. Pure.
import { codePlaceholder } from '../../model/link-code.ts';
import { hostNameProblem } from '../../model/host-name.ts';
import { limits } from '../../platform/limits.ts';
import type { LinkRules, Refusal, SmsRequest } from '../contract.ts';

/** `text` has `base` with a placeholder for each of `links`, in order. */
export type ShortenedText = {
  readonly ok: true;
  readonly text: string;
  readonly base: string;
  readonly links: readonly string[];
};

const { perMessageMax, urlCharsMax } = limits.links;
const { textUnitsMax } = limits.message;
/** Longer texts are refused unread: one with as many links as are allowed fits. */
const sourceCharsMax = textUnitsMax + perMessageMax * urlCharsMax;

/** Everything up to a blank, a quote or a bracket that no URL contains unescaped, or the danda and the ideographic marks. */
const link = /https?:\/\/[^\s<>"`{}|\\^\u0964\u0965\u3001\u3002\uff0c\uff01\uff1f]+/giu;
const ending = /[.,;:!?'*_~\u2019\u201d\u2026]$/;

type Field = Exclude<Refusal['field'], null>;

/** The address of a redirect, up to its code, with the domain of the account or of the installation. */
export function redirectBase({ baseUrl, accounts }: LinkRules, accountId: string): string {
  return `${accounts[accountId] ?? baseUrl}/r/`;
}

/**
 * ```ts
 * shortenLinks('See https://example.org/offer?id=7!', rules, accountId);
 * // { text: 'See https://sms.example.com/r/0000000000!', links: ['https://example.org/offer?id=7'] }
 * ```
 */
export function shortenLinks(
  source: string,
  rules: LinkRules | undefined,
  accountId: string,
  fieldOf: (link: string) => Field = () => 'message',
): ShortenedText | Refusal {
  if (rules === undefined) return no('links cannot be tracked here: leave track_clicks out', 'track_clicks');
  if (source.length > sourceCharsMax) {
    const detail = `has ${source.length} characters, at most ${sourceCharsMax} with its links: shorten it`;
    return { ok: false, code: 'message_too_long', field: 'message', detail };
  }
  const base = redirectBase(rules, accountId);
  const links: string[] = [];
  let text = '';
  let from = 0;
  for (const match of source.matchAll(link)) {
    const written = withoutEnding(match[0]);
    const target = targetOf(written, rules);
    if ('why' in target) {
      return no(`links to ${shown(written)}, which cannot be tracked: ${target.why}`, fieldOf(written));
    }
    links.push(target.href);
    if (links.length > perMessageMax) return no(`has more than ${perMessageMax} links: leave some out`, fieldOf(''));
    text += `${source.slice(from, match.index)}${base}${codePlaceholder}`;
    from = match.index + written.length;
  }
  return { ok: true, text: text + source.slice(from), base, links };
}

/** The text with these codes for its placeholders, in order; null when it does not have as many. */
export function withCodes(text: string, base: string, codes: readonly string[]): string | null {
  const parts = text.split(base + codePlaceholder);
  if (parts.length !== codes.length + 1) return null;
  return parts.map((part, at) => (at === 0 ? part : base + codes[at - 1] + part)).join('');
}

/** What gave a text this link: the variable of its template that has it whole, the template, or the message itself. */
export function sourceOf({ template }: Pick<SmsRequest, 'template'>): (link: string) => Field {
  if (template == null) return () => 'message';
  return (link) => {
    const has = (value: unknown) => link !== '' && typeof value === 'string' && value.includes(link);
    const variable = Object.entries(template.variables).find(([, value]) => has(value));
    return variable === undefined ? 'template_id' : `variables.${variable[0]}`;
  };
}

/** Look-alike letters may have become the address of a short link of ours, which would take another link's code. */
export function refuseOwnPlaceholder(
  text: string,
  base: string,
  links: readonly string[],
  field: Field = 'message',
): Refusal | null {
  return withCodes(text, base, links) === null
    ? no('has the address of a short link in other letters: leave it out', field)
    : null;
}

/** A sentence may end behind a link, or a bracket that was opened before it. */
function withoutEnding(match: string): string {
  let written = match;
  for (;;) {
    const last = written.at(-1);
    const isClosing = (last === ')' && !written.includes('(')) || (last === ']' && !written.includes('['));
    if (!isClosing && !ending.test(written)) return written;
    written = written.slice(0, -1);
  }
}

function targetOf(written: string, rules: LinkRules): { readonly href: string } | { readonly why: string } {
  if (written.length > urlCharsMax) return { why: `it has more than ${urlCharsMax} characters` };
  if (!URL.canParse(written)) return { why: 'it is not a URL' };
  const url = new URL(written);
  const { hostname, username, password, href } = url;
  if (username !== '' || password !== '') return { why: 'it has a user name or password: leave those out' };
  // URL has turned every way to write an IPv4 address (decimal, hexadecimal, short) into four numbers.
  if (hostname.startsWith('[') || /^[0-9.]+$/.test(hostname)) return { why: 'it leads to an IP address: use a name' };
  const host = bareHost(hostname);
  const wrongName = hostNameProblem(hostname);
  if (wrongName !== null) return { why: `it needs a host name ${wrongName}` };
  if (!host.includes('.')) return { why: 'its host has no domain: use a public name' };
  if (ownHosts(rules).has(host)) return { why: 'it leads to the domain of the short links themselves' };
  if (href.length > urlCharsMax) return { why: `it has more than ${urlCharsMax} characters when it is escaped` };
  return { href };
}

function ownHosts({ baseUrl, accounts }: LinkRules): ReadonlySet<string> {
  return new Set([baseUrl, ...Object.values(accounts)].map((base) => bareHost(new URL(base).hostname)));
}

/** URL has lowered it, unescaped it and made ASCII of it; a dot at the end changes nothing of where it leads. */
const bareHost = (hostname: string): string => hostname.replace(/\.+$/, '');

const shownCharsMax = 80;
/** Never the credentials of a link, which the problem would repeat to all who read logs. */
export function shown(written: string): string {
  const bare = written.replace(/\/\/[^/]*@/, '//…@');
  return bare.length <= shownCharsMax ? bare : `${bare.slice(0, shownCharsMax).toWellFormed()}…`;
}

function no(detail: string, field: Field): Refusal {
  return { ok: false, code: 'link_not_trackable', field, detail };
}
