// Parses a NATS URL: servers, credentials and TLS. One text has everything a connection needs, because it is passed
// to threads, child processes and the command line. `tls://` means TLS with a verified certificate or no connection;
// it never falls back to plain text.
import { type PeerCertificate, checkServerIdentity } from 'node:tls';
import { type Authenticator, type TlsOptions, nkeyAuthenticator } from '@nats-io/transport-node';

type NatsAddress = {
  readonly servers: string[];
  readonly user?: string;
  readonly pass?: string;
  readonly authenticator?: Authenticator;
  readonly tls?: TlsOptions;
  /** Where answers come to, for a user that may hear no others; left out: `_INBOX`. */
  readonly inboxPrefix?: string;
};

/**
 * `nats://[user:password@]host:port[,…]` or `tls://…`. A user that is an nkey seed (SU…) signs the server's challenge
 * instead of sending a password. `?inbox=_INBOX.ingress` names where answers come to.
 * `?ca_file=…&cert_file=…&key_file=…` are set by the NATS_… settings.
 */
export function natsAddress(url: string): NatsAddress {
  const parts = url.split(',').map((each) => new URL(each.includes('://') ? each.trim() : `nats://${each.trim()}`));
  const servers = parts.map(({ hostname, port }) => `${hostname}:${port || 4222}`);
  const user = parts.map(({ username }) => decodeURIComponent(username)).findLast((name) => name !== '');
  const pass = parts.map(({ password }) => decodeURIComponent(password)).findLast((text) => text !== '');
  const tls = parts.some(({ protocol }) => protocol === 'tls:') ? { tls: tlsOf(parts) } : {};
  const inbox = parts.map(({ searchParams }) => searchParams.get('inbox')).find((prefix) => prefix !== null);
  const rest = { ...tls, ...(inbox === undefined || inbox === null ? {} : { inboxPrefix: inbox }) };
  if (user === undefined) return { servers, ...rest };
  if (pass === undefined && isUserSeed(user)) {
    return { servers, authenticator: nkeyAuthenticator(new TextEncoder().encode(user)), ...rest };
  }
  return { servers, user, pass: pass ?? '', ...rest };
}

const isUserSeed = (text: string) => /^SU[A-Z2-7]{56}$/.test(text);

function tlsOf(parts: readonly URL[]): TlsOptions {
  const file = (name: string) => parts.map(({ searchParams }) => searchParams.get(name)).find((path) => path !== null);
  const options = { caFile: file('ca_file'), certFile: file('cert_file'), keyFile: file('key_file') };
  const given = Object.entries(options).filter(([, path]) => path !== undefined);
  const names = parts.map(({ hostname }) => hostname.replace(/^\[|\]$/g, ''));
  return {
    ...Object.fromEntries(given),
    // The client asks for `localhost` when it has dialled an address, and knows servers of a cluster by their addresses
    // only: the certificate must be for one of the names in the URL.
    checkServerIdentity: (_: string, certificate: PeerCertificate) => {
      const errors = names.map((name) => checkServerIdentity(name, certificate));
      return errors.includes(undefined) ? undefined : errors[0];
    },
  } as TlsOptions;
}
