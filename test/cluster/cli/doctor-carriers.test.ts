// The doctor's tries at carriers: against the simulator, against servers that are no SMSC, and beside a running system,
// whose sessions it must not take. What is asserted is what a person reads.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type CarrierCheck, examineCarriers } from '../../../cluster/cli/doctor-carriers.ts';
import type { BindConfig, CarrierConfig, TlsConfig } from '../../../cluster/config/configuration.ts';
import { freePort } from '../../../cluster/embedded/ports.ts';
import { until } from '../../../platform/deadline.ts';
import type { SimulatorOptions } from '../../../smpp/simulator/options.ts';
import { type Simulator, startSimulator } from '../../../smpp/simulator/simulator.ts';
import { type Certificates, makeCertificates } from '../../smpp/certificates.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../../support/carrier-house.ts';
import { endSystems, startSystem } from '../../support/system.ts';

let files: Certificates;
beforeAll(() => {
  files = makeCertificates();
});
afterAll(() => files.remove());
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function simulator(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const started = await startSimulator({ magic: false, ...options });
  ends.push(() => started.close());
  return started;
}

/** A server that does with each connection what the test says. */
async function server(onConnection: (socket: net.Socket) => void): Promise<number> {
  const sockets = new Set<net.Socket>();
  const listening = net.createServer((socket) => {
    sockets.add(socket.on('error', () => socket.destroy()));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
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

async function look(port: number, bind: Partial<BindConfig> = {}, changes: Partial<CarrierCheck> = {}) {
  const check = {
    carriers: [carrierWith({ port }, { bind })],
    force: false,
    natsUrl: null,
    isRunning: false,
    stepMs: 500,
    ...changes,
  };
  return examineCarriers(check);
}

async function detailOf(port: number, bind: Partial<BindConfig> = {}): Promise<string> {
  const [finding] = await look(port, bind);
  expect(finding).toMatchObject({ check: 'alpha/1', ok: false });
  expect(finding?.detail).not.toContain('sandbox');
  expect(finding?.detail).toContain('\n→ ');
  return finding?.detail ?? '';
}

describe('a carrier that is set up right', () => {
  it('is bound to once, asked whether it lives, and left as a guest does', async () => {
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

  it('keeps what it delivers meanwhile for the session that can take it', async () => {
    const smsc = await simulator();
    smsc.sendInbound({ from: '8801712345678', to: '16247', text: 'hello' });
    const [finding] = await look(smsc.port);
    expect(finding).toMatchObject({ ok: true, detail: expect.stringContaining('1 deliveries were put off') });
    expect(smsc.stats().inbound).toMatchObject({ acked: 0 });
  });
});

describe('what is wrong is said, and what to do', () => {
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
      'the system id is not known there (ESME_RINVSYSID)\n→ correct binds.system_id',
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
      'does not answer the bind\n→ mostly the port wants TLS',
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

  it('a server that is silent, one that closes, and one that speaks something else', async () => {
    expect(await detailOf(await server(() => {}))).toContain('does not answer the bind');
    expect(await detailOf(await server((socket) => socket.on('data', () => socket.destroy())))).toContain(
      'mostly the address of this machine is not allowed',
    );
    const http = await server((socket) => socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
    expect(await detailOf(http)).toContain('does not speak SMPP');
  });

  it('a certificate for another name, by an unknown authority, and a file that is not there', async () => {
    const { port } = await simulator(secure());
    expect(await detailOf(port, { tls: tls({ serverName: 'another.test' }) })).toMatch(
      /is for DNS:smsc\.test, IP Address:127\.0\.0\.1 and not for another\.test\n→ set tls\.server_name/,
    );
    expect(await detailOf(port, { tls: tls({ caFile: files.path('other-ca.pem') }) })).toContain('set tls.ca_file');
    expect(await detailOf(port, { tls: tls({ caFile: '/nowhere.pem' }) })).toContain('ca_file cannot be read');
  });

  it('TLS where there is none, and none where there is', async () => {
    expect(await detailOf((await simulator()).port, { tls: tls() })).toMatch(/the port (may|does) not speak TLS/);
    expect(await detailOf((await simulator(secure())).port)).toContain('binds.tls');
  });

  it('a carrier of another name, with those that there are', async () => {
    await expect(look(1, {}, { only: 'gamma' })).rejects.toThrow('there is no carrier "gamma"; there are: alpha');
  });
});

describe('beside a running system', () => {
  let house: CarrierHouse;

  it('it asks instead of binding, and binds only when it is told to', async () => {
    house = await openCarrierHouse({ bindsMax: 2 });
    ends.push(() => house.stop());
    await house.host([carrierWith(house.simulator)]);
    const binds = () => house.simulator.stats().binds;
    await until('it is bound', () => binds().now === 2);
    const running = { natsUrl: house.nats.url, isRunning: true };
    const asked = await look(house.simulator.port, {}, running);
    expect(asked.map(({ check, ok }) => [check, ok])).toEqual([
      ['alpha/1', true],
      ['alpha/2', true],
    ]);
    expect(asked[0]?.detail).toContain('the running system has it; doctor --carrier alpha --force');
    expect(binds()).toEqual({ now: 2, total: 2, refused: 0 });

    const [forced] = await look(house.simulator.port, {}, { ...running, force: true });
    expect(forced).toMatchObject({
      ok: false,
      detail: expect.stringContaining('the running system has them, so the credentials are right'),
    });
    expect(binds()).toEqual({ now: 2, total: 2, refused: 1 });
  });

  it('that cannot be asked may have the binds: then only on demand', async () => {
    const smsc = await simulator();
    const away = { natsUrl: `nats://127.0.0.1:${await freePort()}` };
    const [finding] = await look(smsc.port, {}, away);
    expect(finding).toMatchObject({
      check: 'alpha',
      ok: false,
      detail: expect.stringContaining('NATS does not answer'),
    });
    expect(smsc.stats().binds.total).toBe(0);
    expect(await look(smsc.port, {}, { ...away, force: true })).toMatchObject([{ ok: true }]);
  });

  it('that serves no carriers it names as the cause, and does not bind', async () => {
    const smsc = await simulator();
    const check = { isRunning: true, servesCarriers: false };
    expect(await look(smsc.port, {}, check)).toEqual([
      {
        check: 'alpha',
        ok: false,
        detail:
          'no node runs the role carriers\n→ start one that does; doctor --carrier alpha --force binds all the same',
      },
    ]);
    expect(smsc.stats().binds.total).toBe(0);
    expect(await look(smsc.port, {}, { ...check, force: true })).toMatchObject([{ ok: true }]);
  });

  it('a simulated carrier is asked about, whatever is ordered: nobody else can bind to it', async () => {
    house = await openCarrierHouse();
    ends.push(() => house.stop());
    const alpha = { ...carrierWith(house.simulator), simulate: {} as CarrierConfig['simulate'] };
    await house.host([carrierWith(house.simulator)]);
    await until('it is bound', () => house.simulator.stats().binds.now === 2);
    for (const force of [false, true]) {
      const check = { carriers: [alpha], only: 'alpha', natsUrl: house.nats.url, isRunning: true, force };
      const found = await look(house.simulator.port, {}, check);
      expect(found.map(({ check: name, ok }) => [name, ok])).toEqual([
        ['alpha/1', true],
        ['alpha/2', true],
      ]);
      expect(found[0]?.detail).toBe('transceiver is bound (the running system has it)');
    }
    expect(house.simulator.stats().binds).toMatchObject({ total: 2, refused: 0 });
  }, 60_000);

  it('the command knows from the system itself which roles it runs', async () => {
    const system = await startSystem({ env: { HELIOGRAPH_ROLES: 'ingress' } });
    ends.push(endSystems);
    await system.ready();
    const { stdout } = await doctor(system.dataDir, ['--json'], {
      HELIOGRAPH_DATA: system.dataDir,
      HELIOGRAPH_CONFIG: system.env['HELIOGRAPH_CONFIG'],
    });
    const { checks } = JSON.parse(stdout) as { checks: { check: string; ok: boolean; detail: string }[] };
    expect(checks.find(({ check }) => check === 'meghna')).toEqual({
      // Simulated: nobody misses it.
      check: 'meghna',
      ok: true,
      detail: 'no node runs the role carriers\n→ start one that does',
    });
  }, 60_000);

  it('whose carriers do not answer it says so and still does not bind', async () => {
    const smsc = await simulator();
    const [finding] = await look(smsc.port, {}, { isRunning: true });
    expect(finding).toMatchObject({
      check: 'alpha',
      ok: false,
      detail: expect.stringContaining('nobody answers for this carrier'),
    });
    expect(smsc.stats().binds.total).toBe(0);
  });
});

describe('the command', () => {
  it('checks one carrier of heliograph.yaml, prints for people or machines, and its exit code says how it went', async () => {
    const smsc = await simulator();
    const folder = mkdtempSync(join(tmpdir(), 'heliograph-doctor-'));
    ends.push(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'heliograph.yaml');
    const yaml = (
      password: string,
    ) => `country: { name: Test, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }
carriers:
  - name: alpha
    tps: 10
    binds: [{ host: 127.0.0.1, port: ${smsc.port}, system_id: heliograph, password: ${password} }]
`;
    writeFileSync(file, yaml('sandbox'));
    const sound = await doctor(folder, ['--carrier', 'alpha', '--json']);
    expect(JSON.parse(sound.stdout)).toMatchObject({ ok: true, checks: [{ check: 'alpha/1', ok: true }] });
    expect(sound.code).toBe(0);
    writeFileSync(file, yaml('wrong'));
    const wrong = await doctor(folder, ['--carrier', 'alpha']);
    expect(wrong).toMatchObject({ code: 1, stdout: expect.stringMatching(/^✗ alpha\/1 .*the password is wrong/) });
    const unknown = await doctor(folder, ['--carrier', 'beta']);
    expect(unknown).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('there is no carrier "beta"; there are: alpha, sandbox'),
    });
    // Without a name it looks at everything, carriers included, and names the version of nats-server.
    const all = await doctor(folder, []);
    expect(all.stdout).toMatch(/NATS +embedded: \d+\.\d+\.\d+ at/);
    expect(all.stdout).toContain('✗ alpha/1');
  });
});

function doctor(
  folder: string,
  options: string[],
  more: Record<string, string | undefined> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const main = join(import.meta.dirname, '../../../cluster/cli/main.ts');
  const env = {
    ...process.env,
    HELIOGRAPH_DATA: join(folder, 'data'),
    HELIOGRAPH_CONFIG: join(folder, 'heliograph.yaml'),
    HELIOGRAPH_LOG: 'error',
    ...more,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [main, 'doctor', ...options], { env, timeout: 25_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
  });
}
