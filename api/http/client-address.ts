// The client's address: the peer of the socket, unless that is a trusted proxy. Then it is read from the one configured
// header, from right to left up to the first address that is not a trusted proxy. From any other peer the header is
// ignored, because any client can send it.
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import {
  type IpAddress,
  type Network,
  ipOfOctets,
  isInAny,
  parseIp,
  parseNetworks,
} from '../../platform/ip-address.ts';
import { limits } from '../../platform/limits.ts';

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
