// The doctor's connection tests to carriers: against the simulator, and against servers that are no SMSC. The printed
// text is asserted.
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { BindConfig, TlsConfig } from '../../config/configuration.ts';
import { until } from '../support/until.ts';
import type { SimulatorOptions } from '../../smpp/simulator/options.ts';
import { type Certificates, makeCertificates } from '../smpp/certificates.ts';
import { freePort } from '../../cluster/embedded/ports.ts';
import { look, simulator } from './doctor-tries.ts';

let files: Certificates;
beforeAll(() => {
  files = makeCertificates();
});
afterAll(() => files.remove());

/** A server that handles each connection as the test says. */
async function server(onConnection: (socket: net.Socket) => void): Promise<number> {
  const sockets = new Set<net.Socket>();
  const listening = net.createServer((socket) => {
    sockets.add(socket.on('error', () => socket.destroy()));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    listening.close();
  });
  return (listening.address() as net.AddressInfo).port;
}

const tls = (changes: Partial<TlsConfig> = {}): TlsConfig => ({
  caFile: files.path('ca.pem'),
  certFile: null,
  keyFile: null,
  serverName: null,
  verify: true,
  ...changes,
});
const secure = () => ({
  tls: { cert: readFileSync(files.path('server.pem'), 'utf8'), key: readFileSync(files.path('server.key'), 'utf8') },
});

async function detailOf(port: number, bind: Partial<BindConfig> = {}): Promise<string> {
  const [finding] = await look(port, bind);
  expect(finding).toMatchObject({ check: 'alpha/1', ok: false });
  expect(finding?.detail).not.toContain('sandbox');
  expect(finding?.detail).toContain('\n→ ');
  return finding?.detail ?? '';
}

describe('a correctly configured carrier', () => {
  it('is bound once, gets one enquire_link, and an unbind', async () => {
    const smsc = await simulator();
    const [finding, ...more] = await look(smsc.port);
    expect(finding).toMatchObject({
      check: 'alpha/1',
      ok: true,
      detail: expect.stringMatching(/^bound as heliograph .*enquire_link in \d+ ms; no TLS/),
    });
    expect(finding?.detail).toContain('tried once of 2 sessions');
    expect(more).toEqual([]);
    expect(smsc.stats()).toMatchObject({
      binds: { now: 0, total: 1 },
      enquireLinks: 1,
      submits: { total: 0 },
      sessionsBroken: 0,
    });
  });

  it('with TLS: its certificate is shown, and that it was verified or not', async () => {
    const smsc = await simulator(secure());
    const [sound] = await look(smsc.port, { tls: tls() });
    expect(sound).toMatchObject({
      ok: true,
      detail: expect.stringMatching(/TLSv1\.[23], certificate of server by ca, verified, valid until/),
    });
    const [unverified] = await look(smsc.port, { tls: tls({ verify: false, caFile: null }) });
    expect(unverified).toMatchObject({ ok: true, detail: expect.stringContaining('NOT VERIFIED') });
  });

  it('leaves what it delivers meanwhile for the session that can take it', async () => {
    const smsc = await simulator();
    smsc.sendInbound({ from: '8801712345678', to: '16247', text: 'hello' });
    const [finding] = await look(smsc.port);
    expect(finding).toMatchObject({ ok: true, detail: expect.stringContaining('1 deliveries were deferred') });
    expect(smsc.stats().inbound).toMatchObject({ acked: 0 });
  });
});

describe('a fault is reported, and what to do', () => {
  it.each<[string, Partial<SimulatorOptions>, Partial<BindConfig>, string]>([
    [
      'a wrong password',
      {},
      { password: 'hunter2' },
      'the password is wrong (ESME_RINVPASWD)\n→ correct binds.password',
    ],
    [
      'an unknown system id',
      {},
      { systemId: 'nobody' },
      'the system id is unknown (ESME_RINVSYSID)\n→ correct binds.system_id',
    ],
    [
      'a carrier that has enough sessions',
      { faults: [{ name: 'already-bound', args: {} }] },
      {},
      'as many sessions of heliograph as it allows (ESME_RALYBND)\n→ another machine holds them',
    ],
    [
      'a carrier that does not answer the bind',
      { faults: [{ name: 'no-bind-resp', args: {} }] },
      {},
      'does not answer the bind\n→ usually the port requires TLS',
    ],
    [
      'a carrier that does not answer enquire_link',
      { faults: [{ name: 'no-enquire-resp', args: {} }] },
      {},
      'does not answer enquire_link',
    ],
  ])('%s', async (_what, options, bind, words) => {
    const smsc = await simulator(options);
    expect(await detailOf(smsc.port, bind)).toContain(words);
    await until('no session is left', () => smsc.stats().binds.now === 0);
  });

  it('a name without an address', async () => {
    expect(await detailOf(1, { host: 'smsc.invalid' })).toMatch(/the name smsc\.invalid has no address|did not finish/);
  });

  it('a port where nothing listens', async () => {
    expect(await detailOf(await freePort())).toContain('nothing listens at 127.0.0.1');
  });

  it('a server that is silent, one that closes, and one with another protocol', async () => {
    expect(await detailOf(await server(() => {}))).toContain('does not answer the bind');
    expect(await detailOf(await server((socket) => socket.on('data', () => socket.destroy())))).toContain(
      'usually the carrier does not allow the address of this machine',
    );
    const http = await server((socket) => socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
    expect(await detailOf(http)).toContain('does not speak SMPP');
  });

  it('a certificate for another name, by an unknown authority, and a file that does not exist', async () => {
    const { port } = await simulator(secure());
    expect(await detailOf(port, { tls: tls({ serverName: 'another.test' }) })).toMatch(
      /is for DNS:smsc\.test, IP Address:127\.0\.0\.1 and not for another\.test\n→ set tls\.server_name/,
    );
    expect(await detailOf(port, { tls: tls({ caFile: files.path('other-ca.pem') }) })).toContain('set tls.ca_file');
    expect(await detailOf(port, { tls: tls({ caFile: '/nowhere.pem' }) })).toContain('ca_file cannot be read');
  });

  it('TLS where the server has none, and none where it requires it', async () => {
    expect(await detailOf((await simulator()).port, { tls: tls() })).toMatch(/the port (may|does) not speak TLS/);
    expect(await detailOf((await simulator(secure())).port)).toContain('binds.tls');
  });

  it('an unknown carrier, with the known ones', async () => {
    await expect(look(1, {}, { only: 'gamma' })).rejects.toThrow('there is no carrier "gamma"; there are: alpha');
  });
});
