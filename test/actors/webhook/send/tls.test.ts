// Webhooks over TLS, with a real receiver that has a certificate for each name: which certificates are taken, and which name
// the handshake has. The sender runs in a process that trusts the authority of this test.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type Server, createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TLSSocket, createSecureContext } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SendResult } from '../../../../actors/webhook/send/http-sender.ts';
import { type Certificates, makeCertificates } from '../../../smpp/certificates.ts';

let files: Certificates;
let server: Server;
/** What each request that arrived came with: the name of its TLS handshake, and the address that was dialled. */
const received: { name: string | false; address: string | undefined }[] = [];
/** The names of all handshakes, also of those that the sender ended. */
const asked: string[] = [];

const keyPair = (name: string) => ({
  cert: readFileSync(files.path(`${name}.pem`)),
  key: readFileSync(files.path(`${name}.key`)),
});

beforeAll(async () => {
  files = makeCertificates();
  files.add('good', { hosts: ['good.example.com'], signedBy: 'ca' });
  files.add('expired', { hosts: ['expired.example.com'], signedBy: 'ca', expired: true });
  files.add('self-signed', { hosts: ['self-signed.example.com'], signedBy: 'itself' });
  files.add('stranger', { hosts: ['stranger.example.com'], signedBy: 'other-ca' });
  // As a host of many names: which certificate it has, the handshake's name decides. Without one it is that for 127.0.0.1.
  server = createServer(
    {
      ...keyPair('server'),
      SNICallback: (name, answer) => {
        asked.push(name);
        const [of = ''] = name.split('.');
        answer(null, createSecureContext(keyPair(of === 'wrong-name' ? 'good' : of)));
      },
    },
    (request, response) => {
      const { servername, localAddress } = request.socket as TLSSocket & { readonly servername: string | false };
      received.push({ name: servername, address: localAddress });
      request.resume();
      response.end('taken');
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  files.remove();
});

/** The results of one POST to each host, in a process with these authorities beside the public ones. */
async function sendTo(hosts: readonly string[], authorities: string | undefined): Promise<readonly SendResult[]> {
  received.length = 0;
  asked.length = 0;
  const { port } = server.address() as AddressInfo;
  const urls = hosts.map((host) => `https://${host}:${port}/hook`);
  const child = fork(new URL('../../../support/webhook-sender-child.ts', import.meta.url), [], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: authorities, TEST_URLS: JSON.stringify(urls) },
  });
  const exited = once(child, 'exit');
  const [results] = (await Promise.race([
    once(child, 'message'),
    exited.then(([code]) => Promise.reject(new Error(`the sender ended with ${code} before its results`))),
  ])) as [readonly SendResult[]];
  await exited;
  return results;
}

test('a valid certificate of a trusted authority delivers, to the resolved address and with the name in the handshake', async () => {
  expect(await sendTo(['good.example.com'], files.path('ca.pem'))).toMatchObject([
    { error: null, status: 200, response: 'taken' },
  ]);
  expect(received).toEqual([{ name: 'good.example.com', address: '127.0.0.1' }]);
});

test('an address in the URL is verified as one, and no name is in the handshake', async () => {
  expect(await sendTo(['127.0.0.1'], files.path('ca.pem'))).toMatchObject([{ error: null, status: 200 }]);
  expect(received).toEqual([{ name: false, address: '127.0.0.1' }]);
});

test.each([
  ['wrong-name.example.com', /does not match certificate's altnames/],
  ['self-signed.example.com', /self-signed certificate/],
  ['stranger.example.com', /unable to verify the first certificate/],
  ['expired.example.com', /certificate has expired/],
])('%s is refused: tls_error, and no request is sent', async (host, why) => {
  const [result] = await sendTo([host], files.path('ca.pem'));
  expect(result).toMatchObject({ error: 'tls_error', status: null, detail: expect.stringMatching(why) });
  expect(asked).toEqual([host]);
  expect(received).toEqual([]);
});

test('an authority that the environment does not name is not trusted', async () => {
  expect(await sendTo(['good.example.com'], undefined)).toMatchObject([{ error: 'tls_error', status: null }]);
  expect(received).toEqual([]);
});
