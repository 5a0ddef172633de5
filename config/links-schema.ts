// The schema of `links` in heliograph.yaml: the domains of short links, and what their redirects do.
import { z } from 'zod';
import { rawMapOf, textThat, yesOrNo } from './fields.ts';
import { camelFields } from '../platform/letter-case.ts';
import { isAccountId } from '../model/ids.ts';

const origin = textThat(isOrigin, 'an address without a path, such as https://sms.example.com').transform(
  (text) => new URL(text).origin,
);
const page = textThat(
  (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
  'the address of a page, such as https://example.com/expired',
).transform((text) => new URL(text).href);

const loopExpected = 'a page that is no short link itself: unknown codes would lead back to it';

/** Names and addresses under which a browser on this machine finds this machine, as the WHATWG parser writes them. */
const ofThisMachine = /^((.+\.)?localhost\.?|127(\.\d+){3}|0\.0\.0\.0|\[::1?\]|\[::ffff:7f[\da-f]{2}:[\da-f]+\])$/;

export const linksSchema = rawMapOf({
  /** `https://sms.example.com`, without a slash at the end; null: this machine's own HTTP port. */
  base_url: origin.nullable().default(null),
  /** Accounts with a domain of their own. */
  accounts: z
    .record(textThat(isAccountId, 'the id of an account: acc_…'), origin, { error: 'a map of accounts to addresses' })
    .default({}),
  /** Where an unknown or expired code leads; null: to an answer that says so. */
  fallback_url: page.nullable().default(null),
  /** Whether ClickHouse gets the addresses of those who click. */
  store_addresses: yesOrNo.default(false),
})
  // A transform is asked only when every value is what it should be; a refinement would be given those that are not.
  .transform((file, context) => {
    if (leadsBack(file)) context.addIssue({ code: 'custom', path: ['fallback_url'], message: loopExpected });
    return camelFields(file);
  })
  .prefault({});

type Domains = {
  readonly base_url: string | null;
  readonly accounts: Readonly<Record<string, string>>;
  readonly fallback_url: string | null;
};

/** Whether an unknown code would lead to a short link, which is unknown as well. */
function leadsBack({ base_url, accounts, fallback_url }: Domains): boolean {
  if (fallback_url === null) return false;
  const { hostname, pathname } = new URL(fallback_url);
  const isOfDomain = [base_url, ...Object.values(accounts)].some(
    (each) => each !== null && new URL(each).hostname === hostname,
  );
  // Without a domain short links are on http://localhost, which has other names.
  const isOwn = isOfDomain || (base_url === null && ofThisMachine.test(hostname));
  return isOwn && pathname.startsWith('/r/');
}

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, pathname, search, hash, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && pathname === '/' && search + hash + username + password === '';
}
