// The doctor beside a running system, whose sessions it must not take, and the command itself. The printed text is
// asserted.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CarrierConfig } from '../../config/configuration.ts';
import { until } from '../support/until.ts';
import { carrierWith, openCarrierHarness } from '../support/carrier-harness.ts';
import { runCli } from '../support/cli.ts';
import { freePort } from '../../cluster/embedded/ports.ts';
import { endSystems, startSystem } from '../support/system.ts';
import { look, simulator } from './doctor-tries.ts';

const doctor = (folder: string, options: readonly string[], more: Record<string, string | undefined> = {}) =>
  runCli(['doctor', ...options], {
    HELIOGRAPH_DATA: join(folder, 'data'),
    HELIOGRAPH_CONFIG: join(folder, 'heliograph.yaml'),
    ...more,
  });

describe('beside a running system', () => {
  it('it queries instead of binding, and binds only with --force', async () => {
    const harness = await openCarrierHarness({ bindsMax: 2 });
    onTestFinished(() => harness.stop());
    await harness.host([carrierWith(harness.simulator)]);
    const binds = () => harness.simulator.stats().binds;
    await until('it is bound', () => binds().now === 2);
    const running = { natsUrl: harness.nats.url, isRunning: true };
    const asked = await look(harness.simulator.port, {}, running);
    expect(asked.map(({ check, ok }) => [check, ok])).toEqual([
      ['alpha/1', true],
      ['alpha/2', true],
    ]);
    expect(asked[0]?.detail).toContain('the running system has it; doctor --carrier alpha --force');
    expect(binds()).toEqual({ now: 2, total: 2, refused: 0 });

    const [forced] = await look(harness.simulator.port, {}, { ...running, force: true });
    expect(forced).toMatchObject({
      ok: false,
      detail: expect.stringContaining('the running system has them, so the credentials are right'),
    });
    expect(binds()).toEqual({ now: 2, total: 2, refused: 1 });
  });

  it('that cannot be queried may have the binds: then only on demand', async () => {
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

  it('a simulated carrier is queried, even with --force: only the system can bind to it', async () => {
    const harness = await openCarrierHarness();
    onTestFinished(() => harness.stop());
    const alpha = { ...carrierWith(harness.simulator), simulate: {} as CarrierConfig['simulate'] };
    await harness.host([carrierWith(harness.simulator)]);
    await until('it is bound', () => harness.simulator.stats().binds.now === 2);
    for (const force of [false, true]) {
      const check = { carriers: [alpha], only: 'alpha', natsUrl: harness.nats.url, isRunning: true, force };
      const found = await look(harness.simulator.port, {}, check);
      expect(found.map(({ check: name, ok }) => [name, ok])).toEqual([
        ['alpha/1', true],
        ['alpha/2', true],
      ]);
      expect(found[0]?.detail).toBe('transceiver is bound (the running system has it)');
    }
    expect(harness.simulator.stats().binds).toMatchObject({ total: 2, refused: 0 });
  });

  it('the command knows from the system itself which roles it runs', async () => {
    const system = await startSystem({ env: { HELIOGRAPH_ROLES: 'ingress' } });
    onTestFinished(endSystems);
    await system.ready();
    const { stdout } = await doctor(system.dataDir, ['--json'], {
      HELIOGRAPH_DATA: system.dataDir,
      HELIOGRAPH_CONFIG: system.env['HELIOGRAPH_CONFIG'],
    });
    const { checks } = JSON.parse(stdout) as { checks: { check: string; ok: boolean; detail: string }[] };
    expect(checks.find(({ check }) => check === 'meghna')).toEqual({
      // Simulated, so not reported as missing.
      check: 'meghna',
      ok: true,
      detail: 'no node runs the role carriers\n→ start one that does',
    });
  });

  it('a file that the system refused is a fault, with the problems and what to do', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'heliograph-doctor-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'heliograph.yaml');
    const yaml = (
      drain: number,
    ) => `country: { name: Test, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }
carriers: [{ name: alpha, tps: 10, simulate: {} }]
limits: { drain_s_max: ${drain} }
`;
    writeFileSync(file, yaml(10));
    const system = await startSystem({ env: { HELIOGRAPH_ROLES: 'ingress', HELIOGRAPH_CONFIG: file } });
    onTestFinished(endSystems);
    await system.ready();
    const configured = async () => {
      const { stdout, code } = await doctor(folder, ['--json'], { HELIOGRAPH_DATA: system.dataDir });
      const { checks } = JSON.parse(stdout) as { checks: { check: string; ok: boolean; detail: string }[] };
      return { code, ...checks.find(({ check }) => check === 'configuration') };
    };
    expect(await configured()).toMatchObject({ ok: true });
    const health = async () => (await (await fetch(`${system.adminUrl}/health/ready`)).text()).includes('drain_s_max');
    writeFileSync(file, yaml(20));
    await until('the refusal', health);
    expect(await configured()).toEqual({
      code: 1,
      check: 'configuration',
      ok: false,
      detail:
        `${file} is not in effect: the running system uses the one before\n` +
        'needs a restart: limits.drain_s_max: read at the start only\n' +
        '→ restart the system, or take these changes back',
    });
  });

  it('whose carriers do not answer is reported, and it still does not bind', async () => {
    const smsc = await simulator();
    const [finding] = await look(smsc.port, {}, { isRunning: true });
    expect(finding).toMatchObject({
      check: 'alpha',
      ok: false,
      detail: expect.stringContaining('no node reports this carrier'),
    });
    expect(smsc.stats().binds.total).toBe(0);
  });
});

describe('the command', () => {
  it('checks one carrier of heliograph.yaml, prints for people or machines, and its exit code is the result', async () => {
    const smsc = await simulator();
    const folder = mkdtempSync(join(tmpdir(), 'heliograph-doctor-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
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
    // Without a name it checks everything, carriers included, and names the version of nats-server.
    const all = await doctor(folder, []);
    expect(all.stdout).toMatch(/NATS +embedded: \d+\.\d+\.\d+ at/);
    expect(all.stdout).toContain('✗ alpha/1');
  });
});
