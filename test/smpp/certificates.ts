// A certificate authority made for one test file, with a server's and a client's certificate, in a folder of its own.
// The openssl command makes them: Node can read certificates but not write any.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Certificates = {
  readonly folder: string;
  /** Path of a PEM file: ca.pem, server.pem, server.key, client.pem, client.key, other-ca.pem. */
  path(name: string): string;
  /** Adds `<name>.pem` and `<name>.key`, for the host names, signed by an authority of this folder or by itself. */
  add(name: string, options: ServerCertificate): void;
  remove(): void;
};

type ServerCertificate = {
  readonly hosts: readonly string[];
  readonly signedBy: 'ca' | 'other-ca' | 'itself';
  readonly expired?: boolean;
};

/** The server's certificate is for `smsc.test` and 127.0.0.1. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'heliograph-tls-'));
  const path = (name: string) => join(folder, name);
  authority('ca');
  authority('other-ca');
  certificate('server', 'subjectAltName=DNS:smsc.test,IP:127.0.0.1');
  certificate('client', 'extendedKeyUsage=clientAuth');
  return { folder, path, add, remove: () => rmSync(folder, { recursive: true, force: true }) };

  function add(name: string, { hosts, signedBy, expired = false }: ServerCertificate): void {
    const names = `subjectAltName=${hosts.map((host) => `DNS:${host}`).join(',')}`;
    if (signedBy !== 'itself') return certificate(name, names, signedBy, expired);
    const subject = ['-subj', `/CN=${name}`, '-days', '2', '-addext', names];
    openssl(['req', '-x509', ...newKey(name), '-out', path(`${name}.pem`), ...subject]);
  }

  function authority(name: string): void {
    const subject = ['-subj', `/CN=${name}`, '-days', '2', '-addext', 'basicConstraints=critical,CA:TRUE'];
    openssl(['req', '-x509', ...newKey(name), '-out', path(`${name}.pem`), ...subject]);
  }

  function certificate(name: string, extension: string, authorityName = 'ca', expired = false): void {
    writeFileSync(path(`${name}.ext`), `${extension}\n`);
    openssl(['req', ...newKey(name), '-out', path(`${name}.csr`), '-subj', `/CN=${name}`]);
    const files = ['-in', path(`${name}.csr`), '-extfile', path(`${name}.ext`), '-out', path(`${name}.pem`)];
    const [ca, key] = [path(`${authorityName}.pem`), path(`${authorityName}.key`)];
    if (!expired) return openssl(['x509', '-req', ...files, '-CA', ca, '-CAkey', key, '-CAcreateserial', '-days', '2']);
    // `openssl x509` takes no date of its own before OpenSSL 3.4; `openssl ca` does, and wants a database.
    writeFileSync(path('issued.txt'), '');
    writeFileSync(
      path('ca.conf'),
      `[ca]\ndefault_ca=d\n[d]\ndatabase=${path('issued.txt')}\nnew_certs_dir=${folder}\nrand_serial=yes\n` +
        'default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n',
    );
    const dates = ['-startdate', '20200101000000Z', '-enddate', '20200201000000Z'];
    openssl(['ca', '-batch', '-notext', '-config', path('ca.conf'), ...files, '-cert', ca, '-keyfile', key, ...dates]);
  }

  function newKey(name: string): string[] {
    return ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', path(`${name}.key`)];
  }
}

function openssl(parameters: string[]): void {
  try {
    execFileSync('openssl', parameters, { stdio: 'pipe' });
  } catch (error) {
    throw new Error('the TLS tests make their certificates with the openssl command; install openssl', {
      cause: error,
    });
  }
}
