// The client's address, and whether its key may be used from there. The address is the peer of the socket, unless that
// is a trusted proxy. Then it is read from the one configured header, from right to left up to the first address that is
// not a trusted proxy. From any other peer the header is ignored, because anybody can send it.
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import {
  type IpAddress,
  type Network,
  formatIp,
  ipOfOctets,
  isInAny,
  parseIp,
  parseNetworks,
} from '../../platform/ip-address.ts';
import { limits } from '../../platform/limits.ts';
import { perObject } from '../../platform/per-object.ts';
import type { Refusal } from '../../policy/contract.ts';

/** The section `ingress` of heliograph.yaml. */
export type ProxyRules = {
  readonly trustedProxies: readonly string[];
  readonly proxyHeader: 'x-forwarded-for' | 'forwarded';
};

/** Null: unknown. Reads `req`, so it must run before the first await. */
export type ClientAddress = (res: HttpResponse, req: HttpRequest) => IpAddress | null;

export function clientAddress(rules: ProxyRules): ClientAddress {
  const trusted = parseNetworks(rules.trustedProxies);
  return (res, req) => {
    const peer = ipOfOctets(new Uint8Array(res.getRemoteAddress()));
    if (peer === null || trusted.length === 0 || !isInAny(peer, trusted)) return peer;
    return forwardedFor(allOf(req, rules.proxyHeader), rules.proxyHeader, peer, trusted);
  };
}

/** All lines of a header as one list (RFC 9110 section 5.3): some proxies append a line of their own. */
function allOf(req: HttpRequest, header: string): string {
  const lines: string[] = [];
  req.forEach((name, value) => {
    if (name === header) lines.push(value);
  });
  return lines.join(',');
}

/** The last address in the header that is not a trusted proxy. Exported for tests: access depends on it. */
export function forwardedFor(
  header: string,
  kind: ProxyRules['proxyHeader'],
  peer: IpAddress,
  trusted: readonly Network[],
): IpAddress | null {
  // No header: the proxy itself is the client, for example with a health check.
  if (header.trim() === '') return peer;
  const hops = header.split(',');
  for (let at = hops.length - 1; at >= 0; at -= 1) {
    if (hops.length - at > limits.access.proxyHopsMax) return null;
    const hop = hops[at] as string;
    const ip = parseHop(kind === 'forwarded' ? forOf(hop) : hop.trim());
    if (ip === null || at === 0 || !isInAny(ip, trusted)) return ip;
  }
  return null;
}

/** The `for` of one element, RFC 7239: `for=192.0.2.60;proto=http` or `for="[2001:db8::1]:4711"`; '' without one. */
function forOf(element: string): string {
  const pair = element.split(';').find((each) => /^\s*for\s*=/i.test(each));
  const value = pair?.slice(pair.indexOf('=') + 1).trim() ?? '';
  return value.startsWith('"') && value.endsWith('"') && value.length >= 2 ? value.slice(1, -1) : value;
}

/** An address; IPv6 may be in brackets, and a port may follow. */
function parseHop(text: string): IpAddress | null {
  const [, bracketed, withPort] = /^(?:\[(.*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(text) ?? [];
  return parseIp(bracketed ?? withPort ?? text);
}

/** Networks as text (CIDR); empty or undefined: from everywhere. */
type NetworkRules = {
  readonly networks?: readonly string[] | undefined;
  readonly account: { readonly networks?: readonly string[] | undefined };
};

const networksOf = perObject<readonly string[], readonly Network[]>(parseNetworks);

/** Whether the client's address is needed at all: most keys may be used from everywhere. */
export function asksForAddress({ networks, account }: NetworkRules): boolean {
  return (networks?.length ?? 0) > 0 || (account.networks?.length ?? 0) > 0;
}

/**
 * Its own networks and its account's must both match where they are set. Checked before the body is read. `ip` null: it
 * is not known, and no network allows it.
 */
export function networkGate({ networks: own, account }: NetworkRules, ip: IpAddress | null): Refusal | null {
  for (const networks of [own, account.networks]) {
    if (networks === undefined || networks.length === 0) continue;
    if (ip === null || !isInAny(ip, networksOf(networks))) return notAllowed(ip);
  }
  return null;
}

function notAllowed(ip: IpAddress | null): Refusal {
  const from = ip === null ? 'an address that cannot be determined' : formatIp(ip);
  const detail = `this key may not be used from ${from}: extend the allowlist of the key or the account`;
  return { ok: false, code: 'ip_not_allowed', field: null, detail };
}
