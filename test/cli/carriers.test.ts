// `carriers` and `audit` as an operator runs them, against a real nats-server and PostgreSQL: states are shown with
// their reasons, and the audit log is found under an operator's terms.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CommandsAudit, auditCommands } from '../../control/audit-commands.ts';
import { until } from '../support/until.ts';
import { type TestBus, startBus } from '../support/bus.ts';
import { runCliHere } from '../support/cli-here.ts';
import { runCli } from '../support/cli.ts';
import { type TestDatabase, startDatabase } from '../support/database.ts';

let harness: TestBus;
let database: TestDatabase;
let audit: CommandsAudit;
let folder: string;

const yaml = `country: { name: Test, calling_code: "+880", national_lengths: [10], prefixes: { "17": handset } }
carriers:
  - name: handset
    tps: 10
    binds: [{ host: 127.0.0.1, port: 1, system_id: heliograph, password: sandbox, count: 2 }]
`;

beforeAll(async () => {
  [harness, database] = await Promise.all([startBus(), startDatabase()]);
  audit = auditCommands(harness.bus, database.store);
  folder = mkdtempSync(join(tmpdir(), 'heliograph-carriers-'));
  writeFileSync(join(folder, 'heliograph.yaml'), yaml);
});
afterAll(async () => {
  await audit?.close();
  await Promise.all([harness?.stop(), database?.stop()]);
  rmSync(folder, { recursive: true });
});

const env = () => ({
  NATS_URL: harness.nats.url,
  DATABASE_URL: database.postgres.applicationUrl,
  HELIOGRAPH_DATA: join(folder, 'data'),
  HELIOGRAPH_CONFIG: join(folder, 'heliograph.yaml'),
});
const asProcess = (...words: string[]) => runCli(words, env());
const cli = (...words: string[]) => runCliHere(words, env());
const shown = async (...words: string[]) => (await cli(...words)).stdout;

test('a second command to the same state keeps the reason of the first, unless it has another', async () => {
  await asProcess('carriers', 'pause', 'handset', '--reason', 'maintenance of theirs');
  await cli('carriers', 'pause', 'handset');
  expect(await shown('carriers', 'list', 'handset')).toMatch(/^handset {2}paused .*: maintenance of theirs$/m);
  await cli('carriers', 'pause', 'handset', '--reason', 'still');
  expect(await shown('carriers', 'list', 'handset')).toMatch(/^handset {2}paused .*: still$/m);
  await cli('carriers', 'pause', 'handset', '--bind', '2');
  const [, ...binds] = (await shown('carriers', 'list', 'handset')).trimEnd().split('\n');
  expect(binds[1]).not.toContain('still');
  await cli('carriers', 'resume', 'handset');
  await cli('carriers', 'pause', 'handset');
  expect(await shown('carriers', 'list', 'handset')).not.toContain('still');
});

test('the doctor marks a command in effect, apart from what is right and what is wrong', async () => {
  const { code, stdout } = await asProcess('doctor', '--carrier', 'handset');
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^! handset +paused by an operator command: nothing is submitted .*\n +→ .*carriers resume handset$/m,
  );
  expect(stdout).toMatch(/^✗ handset\/1 +nothing listens/m);
});

test('the audit of a carrier has the commands on its binds', async () => {
  await until('six orders are written', async () => {
    return (await shown('audit', '--target', 'handset')).trimEnd().split('\n').length === 6;
  });
  expect(await shown('audit', '--target', 'handset')).toContain('bind.paused  handset/2');
  expect((await shown('audit', '--target', 'handset/2')).trimEnd().split('\n')).toHaveLength(1);
  expect(await shown('audit', '--target', 'hand')).toBe('nothing yet\n');
  expect(await shown('audit', '--target', 'hand%')).toBe('nothing yet\n');
});

test('an unknown action is answered with the known ones', async () => {
  const { code, stdout, stderr } = await asProcess('audit', '--action', 'nosuch');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('no action "nosuch"; there are: ');
  expect(stderr).toContain('carrier.paused');
  expect(await shown('audit', '--action', 'dead_record.dropped')).toBe('nothing yet\n');
  expect(await shown('audit', '--action', 'bind.paused')).toContain('handset/2');
});
