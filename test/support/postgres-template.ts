// The data folder of PostgreSQL after initdb and the first start, made once in a checkout and copied for each test that
// needs a database: initdb takes longer than all else of such a start. What it was made by is in its name.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../cluster/embedded/ports.ts';
import { startPostgresServer } from '../../cluster/embedded/postgres.ts';
import { postgresPlace } from '../../cluster/embedded/postgres-user.ts';
import { dataFormat, formatFile } from '../../cluster/supervisor/data-folder.ts';
import { ignoring } from '../../platform/errors.ts';

/** The superuser's is in the data; every start gives the others theirs. */
export const templatePasswords = { superuser: 'test-only', owner: 'test-owner', application: 'test-app' };

const root = join(import.meta.dirname, '../..');
const templates = join(root, '.runtime', 'postgres-templates');

/** Gives a data folder without a database a copy of the template. */
export async function copyTemplate(dataDir: string): Promise<void> {
  const template = join(templates, templateName());
  if (!existsSync(template)) await makeTemplate(template);
  const { home } = postgresPlace(dataDir);
  await promisify(execFile)('cp', ['-a', template, join(home, 'data')]);
}

/**
 * Gives the data folder of a new installation a copy of the template, and the password that belongs to it: the supervisor
 * finds a database that it has initialised before, and makes roles and tables in it as always.
 */
export async function prepareInstallation(dataDir: string): Promise<void> {
  await copyTemplate(dataDir);
  const secrets = join(dataDir, 'secrets');
  mkdirSync(secrets, { mode: 0o700 });
  writeFileSync(join(secrets, 'postgres-password'), `${templatePasswords.superuser}\n`, { mode: 0o600 });
  // A folder with data and without it would be one of an older format.
  writeFileSync(formatFile(dataDir), `${dataFormat}\n`, { mode: 0o600 });
}

/** Another version of PostgreSQL, or of what initialises it, and another user need another. */
function templateName(): string {
  const made = ['package-lock.json', 'cluster/embedded/postgres.ts', 'cluster/embedded/postgres-roles.ts'];
  const hash = createHash('sha1').update(String(process.getuid?.()));
  for (const file of made) hash.update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

/** Several processes may make it at once: the first one is kept. */
async function makeTemplate(template: string): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-template-'));
  chmodSync(dataDir, 0o755);
  const options = { dataDir, port: await freePort(), passwords: templatePasswords, graceMs: 0 };
  const server = await startPostgresServer(options);
  await server.ready(60_000);
  await server.stop(30_000);
  mkdirSync(templates, { recursive: true });
  for (const name of readdirSync(templates)) {
    if (!template.endsWith(name.slice(0, 40))) rmSync(join(templates, name), { recursive: true, force: true });
  }
  const { home } = postgresPlace(dataDir);
  const draft = `${template}.${process.pid}`;
  await promisify(execFile)('cp', ['-a', join(home, 'data'), draft]);
  try {
    renameSync(draft, template);
  } catch (error) {
    if (!existsSync(template)) throw error;
    ignoring(error, 'another process has made the same');
    rmSync(draft, { recursive: true });
  }
  for (const folder of [home, dataDir]) rmSync(folder, { recursive: true, force: true });
}
