// TLS between session and simulator with a certificate authority of our own: verified unless configured otherwise.
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { type Simulator, startSimulator } from '../../smpp/simulator/simulator.ts';
import { parseLatency } from '../../smpp/simulator/latency.ts';
import { type Certificates, makeCertificates } from './certificates.ts';
import { message } from './messages.ts';
import { boundWitness, closed, closeWitnesses, witness } from './support.ts';

let files: Certificates;
let smsc: Simulator;
beforeAll(() => {
  files = makeCertificates();
});
afterAll(() => files.remove());
afterEach(async () => {
  await closeWitnesses();
  await smsc.close();
});

const start = async ({ mutual = false } = {}) => {
  const pem = (name: string) => readFileSync(files.path(name), 'utf8');
  const tls = { cert: pem('server.pem'), key: pem('server.key'), ...(mutual && { ca: pem('ca.pem') }) };
  smsc = await startSimulator({ tls, latency: parseLatency('fixed:5')! });
};

describe('a session over TLS', () => {
  test('binds, submits and gets its receipt when it trusts the authority', async () => {
    await start();
    const seen = await boundWitness(smsc.port, { tls: { caFile: files.path('ca.pem') } });
    seen.session.submit(message('hello'), 'x');
    await until('the receipt', () => seen.receipts.length === 1);
    expect(smsc.binds()).toMatchObject([{ encrypted: true }]);
  });

  test('refuses a certificate of an authority it does not trust, and says why', async () => {
    await start();
    const seen = witness(smsc.port, { tls: {} });
    const { cause } = await closed(seen);
    expect(cause.kind).toBe('connect_failed');
    expect(cause.why).toMatch(/certificate/);
    const other = await closed(witness(smsc.port, { tls: { caFile: files.path('other-ca.pem') } }));
    expect(other.cause.why).toMatch(/certificate/);
    expect(smsc.stats().binds.total).toBe(0);
  });

  test('compares the name: the host, or server_name where that is another', async () => {
    await start();
    const caFile = files.path('ca.pem');
    await boundWitness(smsc.port, { tls: { caFile, serverName: 'smsc.test' } });
    const wrong = await closed(witness(smsc.port, { tls: { caFile, serverName: 'another.test' } }));
    expect(wrong.cause).toMatchObject({ kind: 'connect_failed', why: expect.stringMatching(/altnames/) });
    // localhost leads to the same place but is not in the certificate.
    const localhost = await closed(witness(smsc.port, { host: 'localhost', tls: { caFile } }));
    expect(localhost.cause.kind).toBe('connect_failed');
  });

  test('connects without verification only when configured', async () => {
    await start();
    await boundWitness(smsc.port, { tls: { verify: false } });
  });

  test('sends its own certificate where one is required', async () => {
    await start({ mutual: true });
    const caFile = files.path('ca.pem');
    const own = { certFile: files.path('client.pem'), keyFile: files.path('client.key') };
    await boundWitness(smsc.port, { tls: { caFile, ...own } });
    const without = await closed(witness(smsc.port, { tls: { caFile } }));
    expect(without.cause.kind).not.toBe('asked');
    await until('the failed handshake to be counted', () => smsc.stats().handshakesFailed === 1);
  });

  test('ends as a failed connection when a file is missing or is no certificate', async () => {
    await start();
    const missing = await closed(witness(smsc.port, { tls: { caFile: files.path('none.pem') } }));
    expect(missing.cause).toMatchObject({
      kind: 'connect_failed',
      why: expect.stringMatching(/^ca_file cannot be read/),
    });
    const own = { certFile: files.path('client.key'), keyFile: files.path('client.pem') };
    const garbage = await closed(witness(smsc.port, { tls: { caFile: files.path('ca.pem'), ...own } }));
    expect(garbage.cause).toMatchObject({
      kind: 'connect_failed',
      why: expect.stringMatching(/^TLS cannot be set up/),
    });
  });

  test('to a port that speaks plain SMPP fails, and the reverse too', async () => {
    smsc = await startSimulator();
    const plain = await closed(witness(smsc.port, { tls: { verify: false }, connectTimerMs: 1_000 }));
    expect(plain.cause.kind).toBe('connect_failed');
    await smsc.close();
    await start();
    const secure = await closed(witness(smsc.port, { bindTimerMs: 1_000 }));
    expect(['peer_closed', 'protocol', 'bind_timeout']).toContain(secure.cause.kind);
  });
});
