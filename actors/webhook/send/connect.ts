// Opens the connection to a webhook's host. Its name is resolved once, every address is checked, and only those that
// were checked are dialled: between a check and a connection no second look-up can give another answer (DNS
// rebinding). TLS still verifies the certificate of the name. No proxy variable is read.
import { Resolver } from 'node:dns/promises';
import net from 'node:net';
import tls from 'node:tls';
import type { Clock } from '../../../platform/clock.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { messageOf } from '../../../platform/errors.ts';
import { parseIp } from '../../../platform/ip-address.ts';
import { limits } from '../../../platform/limits.ts';
import { type TargetRules, addressIn, mayConnect, targetProblem } from '../../../model/webhook-target.ts';
import { ConnectFailed } from './send-error.ts';

/** All addresses of a name; rejects when there is none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/**
 * Asks the name servers directly: the system's own look-up (getaddrinfo) has four threads for the whole process, which
 * four slow names would block. So /etc/hosts is not read.
 */
export function nameServers(): Resolve {
  const resolver = new Resolver({ timeout: limits.delivery.connectMs / 3, tries: 2 });
  return async (hostname) => {
    const all = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = all.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    if (found.length > 0) return found;
    const [first] = all;
    throw first.status === 'rejected' ? first.reason : new Error(`${hostname} has no address`);
  };
}

type ConnectParts = { readonly rules: () => TargetRules; readonly resolve: Resolve; readonly clock: Clock };

/** A connected socket, TLS done where the URL says so. Rejects with ConnectFailed, within connectMs. */
export async function connectTo(url: URL, { rules, resolve, clock }: ConnectParts): Promise<net.Socket> {
  const endAtMs = clock.monotonicMs() + limits.delivery.connectMs;
  const addresses = await checkedAddresses(url, { rules, resolve, clock });
  const isTls = url.protocol === 'https:';
  const options = {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    // Not called for a host that is an address: that one is in the URL and was checked.
    lookup: fixedLookup(addresses),
    autoSelectFamily: true,
    keepAlive: true,
    noDelay: true,
  };
  return new Promise((done, fail) => {
    let hasTcp = false;
    const socket = isTls
      ? tls.connect({
          ...options,
          ALPNProtocols: ['http/1.1'],
          ...(net.isIP(options.host) === 0 ? { servername: options.host } : {}),
        })
      : net.connect(options);
    const failed = (error: ConnectFailed) => {
      socket.destroy();
      fail(error);
    };
    const cancel = clock.after(Math.max(0, endAtMs - clock.monotonicMs()), () =>
      failed(new ConnectFailed('timeout', `no connection in ${limits.delivery.connectMs} ms`)),
    );
    socket.once('connect', () => {
      hasTcp = true;
      const ip = parseIp(socket.remoteAddress ?? '');
      if (ip !== null && !mayConnect(ip, rules()))
        failed(new ConnectFailed('blocked_address', 'connected to an address that was not checked'));
    });
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      cancel();
      if (!socket.destroyed) done(socket);
    });
    // It stays: a socket without a listener would end the process with its error.
    socket.on('error', (error) => {
      cancel();
      failed(
        hasTcp && isTls
          ? new ConnectFailed('tls_error', tlsDetail(error))
          : new ConnectFailed('connect_error', messageOf(error)),
      );
    });
  });
}

async function checkedAddresses(url: URL, { rules, resolve, clock }: ConnectParts): Promise<readonly string[]> {
  const problem = targetProblem(url.href, rules());
  if (problem !== null) throw new ConnectFailed('blocked_address', `the URL ${problem}`);
  if (addressIn(url) !== null) return [];
  const answered = withDeadline('resolving a name', limits.delivery.connectMs, resolve(url.hostname), clock);
  const addresses = await answered.then(
    (all) => all.slice(0, limits.delivery.addressesMax),
    (error: unknown) => {
      throw new ConnectFailed('dns_error', dnsDetail(url.hostname, error, rules()));
    },
  );
  for (const address of addresses) {
    const ip = parseIp(address);
    // One bad address among good ones: the name is not to be trusted.
    if (ip === null || !mayConnect(ip, rules()))
      throw new ConnectFailed('blocked_address', `${url.hostname} leads to ${address}, which is not public`);
  }
  if (addresses.length === 0) throw new ConnectFailed('dns_error', `${url.hostname} has no address`);
  return addresses;
}

/** An operator with networks of their own may have names of their own, too, and expect /etc/hosts to be read. */
function dnsDetail(hostname: string, error: unknown, { allowed }: TargetRules): string {
  const said = messageOf(error);
  if (/(^|\.)localhost$/.test(hostname))
    return `${said}: name servers are asked, /etc/hosts is not read; write 127.0.0.1 in place of ${hostname}`;
  return allowed.length === 0 ? said : `${said}: name servers are asked, /etc/hosts is not read`;
}

/** OpenSSL's own message is a line of its error queue, with places in its source; `reason` is what it says. */
function tlsDetail(error: Error): string {
  const { code, reason } = error as { readonly code?: unknown; readonly reason?: unknown };
  const isOpenSsl = typeof code === 'string' && code.startsWith('ERR_SSL_') && typeof reason === 'string';
  return isOpenSsl ? `${reason} (${code})` : messageOf(error).trim();
}

/** A look-up that gives the addresses that were checked. */
function fixedLookup(addresses: readonly string[]): net.LookupFunction {
  return (_name, { all }, answer) => {
    const found = addresses.map((address) => ({ address, family: net.isIP(address) }));
    const [first = { address: '', family: 0 }] = found;
    if (all === true) answer(null, found);
    else answer(null, first.address, first.family);
  };
}
