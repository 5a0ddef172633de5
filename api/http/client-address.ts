// The client's address. It is the peer of the socket, unless the peer is a trusted proxy: then it is read from the
// one configured header, from its end back to the first address that is no trusted proxy. From any other peer such
// headers are ignored, because anybody can send them.
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

/** heliograph.yaml, `ingress`. */
export type ProxyRules = {
  readonly trustedProxies: readonly string[];
  readonly proxyHeader: 'x-forwarded-for' | 'forwarded';
};

/** Null: it cannot be determined. Reads `req`, so it is called before anything is waited for. */
export type ClientAddress = (res: HttpResponse, req: HttpRequest) => IpAddress | null;

export function clientAddress(rules: ProxyRules): ClientAddress {
  const trusted = parseNetworks(rules.trustedProxies);
  return (res, req) => {
    const peer = ipOfOctets(new Uint8Array(res.getRemoteAddress()));
    if (peer === null || trusted.length === 0 || !isInAny(peer, trusted)) return peer;
    return forwardedFor(allOf(req, rules.proxyHeader), rules.proxyHeader, peer, trusted);
  };
}

/** Every line of a header as one (RFC 9110 section 5.3): some proxies add a line of their own behind the client's. */
function allOf(req: HttpRequest, header: string): string {
  const lines: string[] = [];
  req.forEach((name, value) => {
    if (name === header) lines.push(value);
  });
  return lines.join(',');
}

/** The last address in the header that no trusted proxy has. Exported for tests: it decides who is let in. */
export function forwardedFor(
  header: string,
  kind: ProxyRules['proxyHeader'],
  peer: IpAddress,
  trusted: readonly Network[],
): IpAddress | null {
  // A trusted proxy without its header asks for itself: a health check, say.
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

/** RFC 7239: `for=192.0.2.60;proto=http` or `for="[2001:db8::1]:4711"`. '' when there is none. */
function forOf(element: string): string {
  const pair = element.split(';').find((each) => /^\s*for\s*=/i.test(each));
  const value = pair?.slice(pair.indexOf('=') + 1).trim() ?? '';
  return value.startsWith('"') && value.endsWith('"') && value.length >= 2 ? value.slice(1, -1) : value;
}

/** An address, IPv6 perhaps in brackets, perhaps with a port. */
function parseHop(text: string): IpAddress | null {
  const [, bracketed, withPort] = /^(?:\[(.*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(text) ?? [];
  return parseIp(bracketed ?? withPort ?? text);
}
