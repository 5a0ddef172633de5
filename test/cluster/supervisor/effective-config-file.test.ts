// A system that was started with another heliograph.yaml than the one beside the program: commands in a shell without
// its settings use the file in effect, the audit log names it, and a reload reports every step.
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { bodyKeyId } from '../../../model/records/body-keys.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { runCli } from '../../support/cli.ts';
import { endSystems, startSystem } from '../../support/system.ts';

afterEach(endSystems);

const yaml = (
  more = '',
) => `country: { name: Testland, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }
carriers:
  - { name: alpha, tps: 10, simulate: true }
retention: { history_days: 1000 }
${more}`;

it('is what commands use, what the audit log names, and what a reload reports', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'heliograph-file-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'x.yaml');
  writeFileSync(file, yaml());
  const system = await startSystem({
    env: { HELIOGRAPH_ROLES: 'control,ingress', HELIOGRAPH_CONFIG: file },
    realRoles: true,
  });
  await system.ready();
  const another = join(folder, 'other.yaml');
  const cli = (words: string[], config?: string) =>
    runCli(words, { HELIOGRAPH_DATA: system.dataDir, HELIOGRAPH_CONFIG: config });

  const examined = await cli(['doctor']);
  expect(examined.stdout).toContain(`✓ configuration  ${file} (of the running system): 2 carriers`);
  expect(examined.stdout).not.toContain('other file');
  const warned = await cli(['doctor'], another);
  expect(warned.stdout).toMatch(
    `! other file     HELIOGRAPH_CONFIG is ${another}, but the running system was started with ${file}`,
  );
  expect(warned.stdout).toContain(`✓ configuration  ${file} (of the running system)`);
  const checked = await cli(['dnd', 'check', '12345'], another);
  expect(checked.stderr).toContain(
    `! HELIOGRAPH_CONFIG is ${another}, but the running system was started with ${file}`,
  );

  const logged = () => system.stderr();
  writeFileSync(file, yaml('limits: { stream_replicas: 3 }\n'));
  await until('the refusal', () => logged().includes('"alarm":"config_reload_failed"'));
  expect(logged()).toContain('needs a restart: limits.stream_replicas: read at the start only');
  writeFileSync(file, yaml());
  await until('the end of the alarm', () => logged().includes('the configuration file is in effect again'));

  writeFileSync(file, yaml('content: { words: [lottery] }\n'));
  await until('the reload', () => system.stdout().includes('✓ x.yaml reloaded: content'));
  const record = () => cli(['audit', '--action', 'config.reloaded']);
  await until('the audit record', async () => (await record()).stdout.includes('config.reloaded'), {
    everyMs: 500,
  });
  expect((await record()).stdout).toContain(`config.reloaded  ${file}`);

  // A shell without the file's path would use its default of 400 days and drop a key that is needed.
  const bodyKeys = join(system.dataDir, 'secrets', 'body-key');
  const retired = (octet: number, days: number) =>
    `${Buffer.alloc(32, octet).toString('base64')} ${new Date(systemClock.nowMs() - days * 86_400_000).toISOString()}\n`;
  appendFileSync(bodyKeys, retired(1, 500) + retired(2, 1_100));
  const rotated = await cli(['keys', 'rotate-body', '--json']);
  expect(JSON.parse(rotated.stdout)).toMatchObject({
    kept: [{ until: null }, { id: bodyKeyId(Buffer.alloc(32, 1)) }],
    gone: [bodyKeyId(Buffer.alloc(32, 2))],
  });
  const tooEarly = await cli(['keys', 'rotate-body']);
  expect(tooEarly).toMatchObject({ code: 1, stderr: expect.stringContaining('does not seal yet') });

  const connections = join(system.dataDir, 'run', 'connections.json');
  expect(JSON.parse(readFileSync(connections, 'utf8'))).toMatchObject({ configFile: file });
  system.process.kill('SIGTERM');
  expect(await system.exit()).toBe(0);
  expect(existsSync(connections)).toBe(false);
});
