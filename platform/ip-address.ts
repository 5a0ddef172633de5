// IP addresses and networks as 16 octets, IPv4 in its mapped form (RFC 4291, 2.5.5.2), so that one comparison serves
// both families and a mapped address cannot bypass a rule for IPv4. What is an address, node:net decides: strictly, as a
// text that two parsers could read differently (leading zeros) must be none. Pure.
import { isIP } from 'node:net';

/** 16 octets. */
export type IpAddress = Uint8Array;
export type Network = { readonly address: IpAddress; readonly prefixBits: number };

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] as const;

/** Null when the text is not one address, or has a zone. The caller removes brackets and ports. */
export function parseIp(text: string): IpAddress | null {
  const family = text.includes('%') ? 0 : isIP(text);
  if (family === 0) return null;
  if (family === 4) return Uint8Array.of(...mappedPrefix, ...text.split('.').map(Number));
  // The last two groups may be written as IPv4.
  const groups = text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) =>
    [a * 256 + Number(b), c * 256 + Number(d)].map((group) => group.toString(16)).join(':'),
  );
  const [head = [], tail = []] = groups.split('::').map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  const octets = [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
  return Uint8Array.from(octets.flatMap((group) => [group >> 8, group & 0xff]));
}

/** An address from the 4 or 16 octets of a socket address; null for any other length. */
export function ipOfOctets(octets: Uint8Array): IpAddress | null {
  if (octets.length === 16) return Uint8Array.from(octets);
  return octets.length === 4 ? Uint8Array.of(...mappedPrefix, ...octets) : null;
}

/** `203.0.113.0/24`, `2001:db8::/32`, or a single address. Null when it is none, or bits are set behind the prefix. */
export function parseNetwork(text: string): Network | null {
  return networkProblem(text) === null ? readNetwork(text) : null;
}

/** What cannot be read allows nobody: it is left out, and the list is shorter. */
export function parseNetworks(texts: readonly string[]): readonly Network[] {
  return texts.map(parseNetwork).filter((network) => network !== null);
}

/** Why the text is not a network, as a sentence; null when it is one. */
export function networkProblem(text: string): string | null {
  if (readNetwork(text) === null) return 'expected a network such as 203.0.113.0/24 or 2001:db8::/32, or one address';
  const intended = networkIntended(text);
  return intended === null ? null : `${text} has bits behind its prefix: expected ${intended}`;
}

/**
 * Bits set behind the prefix are a typing error that would allow more addresses than intended. Null: there are none.
 * ```ts
 * networkIntended('127.0.0.1/8'); // '127.0.0.0/8, or 127.0.0.1 alone'
 * ```
 */
export function networkIntended(text: string): string | null {
  const network = readNetwork(text);
  if (network === null) return null;
  const { address, prefixBits } = network;
  const intended = address.map((octet, at) => octet & octetMask(prefixBits - at * 8));
  if (address.every((octet, at) => octet === intended[at])) return null;
  const [base, prefix] = text.split('/');
  return `${formatIp(intended)}/${prefix}, or ${base} alone`;
}

function readNetwork(text: string): Network | null {
  const [, base = '', prefix] = /^([^/]*)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const address = parseIp(base);
  const bits = base.includes(':') ? 128 : 32;
  if (address === null || Number(prefix ?? bits) > bits) return null;
  return { address, prefixBits: Number(prefix ?? bits) + 128 - bits };
}

export function isInNetwork(ip: IpAddress, { address, prefixBits }: Network): boolean {
  for (let at = 0; at * 8 < prefixBits; at += 1) {
    if ((((ip[at] as number) ^ (address[at] as number)) & octetMask(prefixBits - at * 8)) !== 0) return false;
  }
  return true;
}

/** The octet whose first `bits` bits are set; all of them from 8, none below 0. */
function octetMask(bits: number): number {
  return (0xff00 >> Math.min(8, Math.max(0, bits))) & 0xff;
}

export function isInAny(ip: IpAddress, networks: readonly Network[]): boolean {
  for (const network of networks) if (isInNetwork(ip, network)) return true;
  return false;
}

/** Whether one of `networks` contains all addresses of this one. */
export function isWithinAny({ address, prefixBits }: Network, networks: readonly Network[]): boolean {
  return networks.some((each) => prefixBits >= each.prefixBits && isInNetwork(address, each));
}

/** What one household has: an address of IPv4, a network of 64 bits of IPv6 (RFC 6177). Each has one name. */
export function householdOf(ip: IpAddress): string {
  const name = formatIp(ip);
  return name.includes(':') ? `${name.split(':', 4).join(':')}::/64` : name;
}

/** For display: IPv4 with dots, IPv6 in eight groups. */
export function formatIp(ip: IpAddress): string {
  if (mappedPrefix.every((octet, at) => ip[at] === octet)) return ip.slice(12).join('.');
  const groups = Array.from({ length: 8 }, (_, at) => ((ip[at * 2] as number) << 8) | (ip[at * 2 + 1] as number));
  return groups.map((group) => group.toString(16)).join(':');
}
