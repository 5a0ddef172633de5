// What each process of a running system knows: no secret is in any environment, and a role gets its own only.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { parseText } from '../../../config/load.ts';
import { loadSettings } from '../../../config/settings.ts';
import {
  type RoleChild,
  configurationFor,
  settingsFor,
  settingsOfRole,
} from '../../../cluster/supervisor/role-settings.ts';
import { readConnections } from '../../../cluster/supervisor/data-folder.ts';
import { until } from '../../support/until.ts';
import { processesOf } from '../../support/processes.ts';
import { endSystems, startSystem } from '../../support/system.ts';

afterEach(endSystems);

const roles = Object.keys(settingsOfRole) as RoleChild[];
const configuration = (binds: string) => `
country: { name: Test, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }
carriers:
  - { name: alpha, tps: 10, binds: [{ host: 127.0.0.1, port: 9, system_id: me, ${binds} }] }
  - { name: beta, tps: 10, simulate: true }
`;

test.runIf(process.platform === 'linux')(
  'no environment of any child holds a URL with a password, the body key or the password of a carrier',
  async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-privilege-'));
    const file = join(dataDir, 'heliograph.yaml');
    writeFileSync(file, configuration('password_env: SMPP_PASSWORD'));
    const bodyKey = Buffer.alloc(32, 9).toString('base64');
    const system = await startSystem({
      realRoles: true,
      dataDir,
      env: { HELIOGRAPH_CONFIG: file, SMPP_PASSWORD: 'hunter2', HELIOGRAPH_BODY_KEY: bodyKey, SOME_TOKEN: 'hunter3' },
    });
    // A carrier that nothing serves does not make the system unready.
    await until('all children run', async () => (await system.readiness())?.code === 200);
    const readyFacts = readConnections(dataDir)!;
    const nats = new URL(readyFacts.natsUrl);
    const secrets = [
      bodyKey,
      'hunter2',
      'hunter3',
      nats.password || nats.username,
      new URL(readyFacts.databaseUrl!).password,
      new URL(readyFacts.databaseOwnerUrl!).password,
      readyFacts.simulators.token,
    ];
    const children = await processesOf(dataDir);
    expect(children.length).toBeGreaterThanOrEqual(7);
    for (const command of children) {
      const environment = readFileSync(`/proc/${Number.parseInt(command, 10)}/environ`, 'latin1');
      for (const secret of secrets) {
        expect(command.includes(secret), `${command} has a secret in its command line`).toBe(false);
        expect(environment.includes(secret), `${command} has a secret in its environment`).toBe(false);
      }
      expect(environment).not.toMatch(
        /(DATABASE_URL|DATABASE_OWNER_URL|NATS_URL|CLICKHOUSE_URL|HELIOGRAPH_BODY_KEY|HELIOGRAPH_SQL_TOKEN|HELIOGRAPH_SIMULATOR_TOKEN|HELIOGRAPH_CONFIGURATION)=/,
      );
    }
    // Nor may a local user read the texts and codes that the simulated carriers took.
    expect(Object.keys(readyFacts.simulators.urls)).toEqual(['beta', 'sandbox']);
    for (const url of Object.values(readyFacts.simulators.urls)) {
      const asked = async (headers: Record<string, string>) => (await fetch(`${url}/messages`, { headers })).status;
      expect(await asked({})).toBe(401);
      expect(await asked({ authorization: `Bearer ${readyFacts.simulators.token}` })).toBe(200);
    }
    // A local user with a stolen key must not avoid the networks check by bypassing the ingress.
    const { control } = JSON.parse(readFileSync(join(dataDir, 'run', 'ports.json'), 'utf8')) as { control: number };
    const codeOf = async (port: number | string | undefined, headers: Record<string, string> = {}) => {
      const reply = await fetch(`http://127.0.0.1:${String(port)}/v1/account`, { headers });
      expect(reply.headers.get('x-request-id')).toMatch(/^req_/);
      const { code } = (await reply.json()) as { code: string };
      return [reply.status, code];
    };
    expect(await codeOf(control)).toEqual([403, 'ingress_only']);
    expect(await codeOf(control, { 'x-heliograph-ingress': 'guessed' })).toEqual([403, 'ingress_only']);
    expect(await codeOf(system.env['HELIOGRAPH_HTTP_PORT'])).toEqual([401, 'missing_api_key']);
    const key = (JSON.parse(readFileSync(join(dataDir, 'demo-keys.json'), 'utf8')) as { testKey: string }).testKey;
    const asked = { authorization: `Bearer ${key}`, 'x-heliograph-ingress': 'guessed' };
    expect((await codeOf(system.env['HELIOGRAPH_HTTP_PORT'], asked))[0]).toBe(200);
    expect(await codeOf(control, asked)).toEqual([403, 'ingress_only']);
    system.process.kill('SIGTERM');
    expect(await system.exit()).toBe(0);
  },
);

test('each role gets the secrets it uses and no other', () => {
  const secrets = [
    ...['NATS_URL', 'DATABASE_URL', 'DATABASE_OWNER_URL', 'CLICKHOUSE_URL'],
    ...['HELIOGRAPH_BODY_KEY', 'HELIOGRAPH_SQL_TOKEN', 'HELIOGRAPH_SIMULATOR_TOKEN'],
  ];
  const all = Object.fromEntries(secrets.map((name) => [name, name]));
  const readyFacts = Object.fromEntries(roles.map((role) => [role, Object.keys(settingsFor(role, all)).sort()]));
  expect(readyFacts).toEqual({
    ingress: ['HELIOGRAPH_BODY_KEY', 'NATS_URL'],
    actors: ['HELIOGRAPH_BODY_KEY', 'NATS_URL'],
    control: ['DATABASE_OWNER_URL', 'DATABASE_URL', 'HELIOGRAPH_BODY_KEY', 'NATS_URL'],
    analytics: ['CLICKHOUSE_URL', 'HELIOGRAPH_SQL_TOKEN', 'NATS_URL'],
    delivery: ['HELIOGRAPH_BODY_KEY', 'NATS_URL'],
    simulator: ['HELIOGRAPH_SIMULATOR_TOKEN'],
  });
});

test("passwords of carriers are the actors' alone; a changed one is detected all the same", async () => {
  const read = (password: string) => parseText(configuration(`password: ${password}`), 'heliograph.yaml');
  const [before, after] = [await read('hunter2'), await read('hunter4')];
  for (const role of roles) {
    const text = JSON.stringify(configurationFor(role, before));
    expect(text.includes('hunter2'), role).toBe(role === 'actors');
    if (role === 'simulator' || role === 'actors') continue;
    expect(text).toBe(JSON.stringify(configurationFor(role, before)));
    expect(text).not.toBe(JSON.stringify(configurationFor(role, after)));
  }
  expect(configurationFor('simulator', before).carriers.map(({ name }) => name)).toEqual(['beta', 'sandbox']);
});

test("every setting that a process reads is either passed to a role or the supervisor's own", () => {
  const asked = new Set<string>();
  loadSettings(new Proxy({}, { get: (_, name) => void asked.add(String(name)) }));
  const own = ['HELIOGRAPH_CONFIG', 'HELIOGRAPH_ADMIN_HOST', 'HELIOGRAPH_ADMIN_PORT', 'HELIOGRAPH_ROLES'];
  // No secret: every child has it in its environment (harmless-environment.ts).
  const inherited = ['HELIOGRAPH_LOG'];
  const inUrl = ['NATS_CA_FILE', 'NATS_CERT_FILE', 'NATS_KEY_FILE'];
  const known = new Set([...own, ...inherited, ...inUrl, ...roles.flatMap((role) => settingsOfRole[role])]);
  expect([...asked].filter((name) => !known.has(name))).toEqual([]);
});
