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
  remove(): void;
};

/** The server's certificate is for `smsc.test` and 127.0.0.1. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'heliograph-tls-'));
  const path = (name: string) => join(folder, name);
  authority('ca');
  authority('other-ca');
  certificate('server', 'subjectAltName=DNS:smsc.test,IP:127.0.0.1');
  certificate('client', 'extendedKeyUsage=clientAuth');
  return { folder, path, remove: () => rmSync(folder, { recursive: true, force: true }) };

  function authority(name: string): void {
    const subject = ['-subj', `/CN=${name}`, '-days', '2', '-addext', 'basicConstraints=critical,CA:TRUE'];
    openssl(['req', '-x509', ...newKey(name), '-out', path(`${name}.pem`), ...subject]);
  }

  function certificate(name: string, extension: string): void {
    writeFileSync(path(`${name}.ext`), `${extension}\n`);
    openssl(['req', ...newKey(name), '-out', path(`${name}.csr`), '-subj', `/CN=${name}`]);
    const signer = ['-CA', path('ca.pem'), '-CAkey', path('ca.key'), '-CAcreateserial', '-days', '2'];
    const input = ['-in', path(`${name}.csr`), '-extfile', path(`${name}.ext`)];
    openssl(['x509', '-req', ...input, ...signer, '-out', path(`${name}.pem`)]);
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
