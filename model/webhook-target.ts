// Where a webhook may be sent: rules for the URL as text and for every address that its name leads to, so that nobody
// makes Heliograph call machines inside of the operator's network (server-side request forgery). Pure: the sender
// (actors/webhook/send/) resolves and connects by these rules, the management API refuses a URL by them.
import { hostNameProblem } from './host-name.ts';
import { type IpAddress, type Network, isInAny, parseIp, parseNetworks } from '../platform/ip-address.ts';
import { webhookLimits } from '../platform/limits-webhooks.ts';

/** `allowed`: networks of the operator's own (heliograph.yaml: webhooks.allow_networks). Default: none. */
export type TargetRules = { readonly allowed: readonly Network[] };

/**
 * Special-purpose IPv4 blocks (RFC 6890 and the IANA registry): this network, private, shared (CGNAT), loopback,
 * link-local with the clouds' metadata services, protocol assignments, documentation, benchmarking, 6to4 relays,
 * multicast, reserved and broadcast.
 */
const refusedV4 = parseNetworks([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]);
const mappedV4 = parseNetworks(['::ffff:0:0/96']);
/**
 * Only global unicast is public (RFC 4291, 2.4). That leaves out every form with an IPv4 address inside of it, such as
 * ::127.0.0.1, 64:ff9b::/96 (NAT64) and fec0::/10; those that remain follow: Teredo and other assignments,
 * documentation, 6to4.
 */
const globalUnicast = parseNetworks(['2000::/3']);
const refusedV6 = parseNetworks(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);

/** Whether a connection to this address may be made. */
export function mayConnect(ip: IpAddress, { allowed }: TargetRules): boolean {
  if (isInAny(ip, allowed)) return true;
  if (isInAny(ip, mappedV4)) return !isInAny(ip, refusedV4);
  return isInAny(ip, globalUnicast) && !isInAny(ip, refusedV6);
}

/** Names of networks of one's own, and of examples: not in the public DNS (RFC 6762, RFC 6761, RFC 8375, ICANN's .internal). */
const privateNames = ['.local', '.localhost', '.internal', '.home.arpa', '.lan', '.onion', '.test', '.example'];

// oxlint-disable-next-line no-control-regex -- the pattern matches control characters on purpose
export const controls = /[\u0000-\u001f\u007f-\u009f]/;
export const withControls = 'must not contain control characters, such as a line feed';

/** As it is stored and sent: a letter of Bengali has nine characters there. */
const tooLong = `must have at most ${webhookLimits.urlCharsMax} characters, percent-encoded`;

/**
 * What is wrong with a URL as a webhook's target, as the end of a sentence that begins with its field; null: nothing.
 * ```ts
 * targetProblem('http://[::ffff:10.0.0.1]/', { allowed: [] }); // 'leads to an address that is not public, …'
 * ```
 */
export function targetProblem(text: string, rules: TargetRules): string | null {
  if (text.length > webhookLimits.urlCharsMax) return tooLong;
  // The parser would leave some of them out, and escape others.
  if (controls.test(text)) return withControls;
  if (!URL.canParse(text)) return 'must be a URL such as https://example.com/webhooks';
  const url = new URL(text);
  if (url.href.length > webhookLimits.urlCharsMax) return tooLong;
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https:// or http://';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  if (port < 1_024 && port !== 80 && port !== 443) return 'must have the port 80, 443 or one from 1024';
  const ip = addressIn(url);
  if (ip !== null) return mayConnect(ip, rules) ? null : notPublic;
  const { hostname } = url;
  const wrongName = hostNameProblem(hostname);
  if (wrongName !== null) return `must have a host name ${wrongName}`;
  // An operator who allows networks of their own has names of their own in them.
  if (rules.allowed.length > 0) return null;
  if (hostname.endsWith('.')) return 'must have a host name without a dot at its end';
  if (!hostname.includes('.') || privateNames.some((end) => hostname.endsWith(end))) return noPublicName;
  return null;
}

/** A client of one's own network reads this too: it says which setting the operator has for it. */
const notPublic =
  'leads to an address that is not public, and webhooks.allow_networks of heliograph.yaml does not have it';

/** Developers try `https://localhost` first. */
const noPublicName =
  'must have a public host name, such as example.com: one of your own network needs webhooks.allow_networks of ' +
  'heliograph.yaml; to a program on your own machine `heliograph listen` forwards test events';

/** The address that the host is written as; null for a name. */
export function addressIn({ hostname }: URL): IpAddress | null {
  return parseIp(hostname.startsWith('[') ? hostname.slice(1, -1) : hostname);
}
