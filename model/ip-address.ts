// IP addresses and networks as 16 octets, IPv4 in its mapped form (RFC 4291, 2.5.5.2), so that one comparison serves
// both families and a mapped address cannot bypass a rule for IPv4. Parsing is strict: a text that two parsers could
// read differently (leading zeros, zones) is no address. Pure.

/** 16 octets. */
export type IpAddress = Uint8Array;
export type Network = { readonly address: IpAddress; readonly prefixBits: number };

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] as const;

/** Null when the text is not one address. The caller removes brackets and ports. */
export function parseIp(text: string): IpAddress | null {
  return text.includes(':') ? parseV6(text) : parseV4(text);
}

/** An address from the 4 or 16 octets of a socket address; null for any other length. */
export function ipOfOctets(octets: Uint8Array): IpAddress | null {
  if (octets.length === 16) return Uint8Array.from(octets);
  return octets.length === 4 ? Uint8Array.of(...mappedPrefix, ...octets) : null;
}

/** `203.0.113.0/24`, `2001:db8::/32`, or a single address. Null when it is none, or bits are set behind the prefix. */
export function parseNetwork(text: string): Network | null {
  const slash = text.indexOf('/');
  const address = parseIp(slash < 0 ? text : text.slice(0, slash));
  if (address === null) return null;
  if (slash < 0) return { address, prefixBits: 128 };
  const prefix = text.slice(slash + 1);
  const isV4 = !text.includes(':');
  if (!/^(0|[1-9]\d{0,2})$/.test(prefix) || Number(prefix) > (isV4 ? 32 : 128)) return null;
  const prefixBits = Number(prefix) + (isV4 ? 96 : 0);
  // Bits set behind the prefix are a typing error that would allow more addresses than intended.
  for (let bit = prefixBits; bit < 128; bit += 1) {
    if (((address[bit >> 3] as number) >> (7 - (bit & 7))) & 1) return null;
  }
  return { address, prefixBits };
}

/** Why the text is not a network, as a sentence; null when it is one. */
export function networkProblem(text: string): string | null {
  if (parseNetwork(text) !== null) return null;
  const [base = '', prefix = ''] = text.split('/');
  const bits = base.includes(':') ? 128 : 32;
  const address = parseIp(base);
  if (address === null || !/^(0|[1-9]\d{0,2})$/.test(prefix) || Number(prefix) > bits) return networkExpected;
  const prefixBits = Number(prefix) + 128 - bits;
  const network = address.map((octet, at) => octet & (0xff00 >> Math.min(8, Math.max(0, prefixBits - at * 8))));
  return `${text} has bits behind its prefix: expected ${formatIp(network)}/${prefix}, or ${base} alone`;
}

const networkExpected = 'expected a network such as 203.0.113.0/24 or 2001:db8::/32, or one address';

export function isInNetwork(ip: IpAddress, { address, prefixBits }: Network): boolean {
  const whole = prefixBits >> 3;
  for (let at = 0; at < whole; at += 1) if (ip[at] !== address[at]) return false;
  const rest = prefixBits & 7;
  return rest === 0 || (((ip[whole] as number) ^ (address[whole] as number)) & (0xff00 >> rest) & 0xff) === 0;
}

export function isInAny(ip: IpAddress, networks: readonly Network[]): boolean {
  for (const network of networks) if (isInNetwork(ip, network)) return true;
  return false;
}

/** Whether one of `networks` contains all addresses of this one. */
export function isWithinAny({ address, prefixBits }: Network, networks: readonly Network[]): boolean {
  return networks.some((each) => prefixBits >= each.prefixBits && isInNetwork(address, each));
}

/** For display: IPv4 with dots, IPv6 in eight groups. */
export function formatIp(ip: IpAddress): string {
  if (mappedPrefix.every((octet, at) => ip[at] === octet)) return ip.slice(12).join('.');
  const groups = Array.from({ length: 8 }, (_, at) => ((ip[at * 2] as number) << 8) | (ip[at * 2 + 1] as number));
  return groups.map((group) => group.toString(16)).join(':');
}

function parseV4(text: string): IpAddress | null {
  const octets = octetsOfV4(text);
  return octets === null ? null : Uint8Array.of(...mappedPrefix, ...octets);
}

function octetsOfV4(text: string): number[] | null {
  const parts = text.split('.');
  if (parts.length !== 4) return null;
  const octets = parts.map((part) => (/^(0|[1-9]\d{0,2})$/.test(part) ? Number(part) : 256));
  return octets.every((octet) => octet <= 255) ? octets : null;
}

function parseV6(text: string): IpAddress | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const head = groupsOf(halves[0] ?? '', halves.length === 1);
  const tail = halves.length === 2 ? groupsOf(halves[1] ?? '', true) : [];
  if (head === null || tail === null) return null;
  const missing = 8 - head.length - tail.length;
  // `::` stands for at least one group.
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const groups = [...head, ...Array<number>(halves.length === 2 ? missing : 0).fill(0), ...tail];
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

/** Groups of hexadecimal digits; the last two may be written as IPv4 when the text ends with them. */
function groupsOf(text: string, mayEndInV4: boolean): number[] | null {
  if (text === '') return [];
  const parts = text.split(':');
  const groups: number[] = [];
  for (const [at, part] of parts.entries()) {
    if (part.includes('.')) {
      const octets = mayEndInV4 && at === parts.length - 1 ? octetsOfV4(part) : null;
      if (octets === null) return null;
      groups.push(
        ((octets[0] as number) << 8) | (octets[1] as number),
        ((octets[2] as number) << 8) | (octets[3] as number),
      );
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return null;
      groups.push(Number.parseInt(part, 16));
    }
  }
  return groups;
}
