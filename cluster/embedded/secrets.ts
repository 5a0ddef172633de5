// The secrets that a single machine generates once, in files only their owner can read. Losing `body-key` means losing
// every body in the streams. Never logged, never in a command line.
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { SetupError, ignoring } from '../../platform/errors.ts';
import { secretBytes } from '../../platform/random.ts';
import { type BodyKeys, parseBodyKeys } from '../../model/records/body-keys.ts';
import type { DatabasePasswords } from './postgres-roles.ts';
import { type Rotation, bodyKeysIn, rotated, startedWith } from './body-key-file.ts';

export type Secrets = {
  /** For message bodies: HELIOGRAPH_BODY_KEY, or our own. */
  bodyKeys: BodyKeys;
  natsPassword: string;
  /** For the roles of the embedded PostgreSQL. */
  databasePasswords: DatabasePasswords;
};

export function loadSecrets(dataDir: string, env: Record<string, string | undefined> = process.env): Secrets {
  const folder = secretsFolder(dataDir);
  return {
    bodyKeys: loadBodyKeys(dataDir, env),
    natsPassword: secretFile(join(folder, 'nats-password'), 'base64url'),
    databasePasswords: {
      superuser: secretFile(join(folder, 'postgres-password'), 'base64url'),
      owner: secretFile(join(folder, 'postgres-owner-password'), 'base64url'),
      application: secretFile(join(folder, 'postgres-app-password'), 'base64url'),
    },
  };
}

/** Only the body keys: a role that was given them reads no other secret. */
export function loadBodyKeys(dataDir: string, env: Readonly<Record<string, string | undefined>>): BodyKeys {
  const given = env['HELIOGRAPH_BODY_KEY'];
  if (given) return parseBodyKeys(given);
  const file = join(secretsFolder(dataDir), 'body-key');
  return bodyKeysIn(secretFile(file, 'base64'), file);
}

function secretsFolder(dataDir: string): string {
  const folder = join(dataDir, 'secrets');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  return folder;
}

const bodyKeyFile = (dataDir: string) => join(dataDir, 'secrets', 'body-key');

/** Puts a new body key before those of the file; it seals from the next start on. */
export function rotateBodyKey(dataDir: string, nowMs: number, keptMs: number | null): Rotation {
  const file = bodyKeyFile(dataDir);
  if (!existsSync(file)) throw new SetupError(`${file}: there is no body key of this machine's own yet (npm start)`);
  const rotation = rotated(readFileSync(file, 'utf8'), nowMs, keptMs);
  replaceFile(file, rotation.text);
  return rotation;
}

/** Called by the supervisor before any role runs: the first key seals from now on, the others are retired. */
export function beginSealing(dataDir: string, nowMs: number): void {
  const file = bodyKeyFile(dataDir);
  const text = existsSync(file) ? startedWith(readFileSync(file, 'utf8'), nowMs) : null;
  if (text !== null) replaceFile(file, text);
}

function replaceFile(file: string, text: string): void {
  writeDurably(`${file}.${process.pid}`, text);
  renameSync(`${file}.${process.pid}`, file);
}

/** Reads the file, or creates it with 32 random bytes. Two processes at once get the same ones. */
function secretFile(file: string, encoding: 'base64' | 'base64url'): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw new SetupError(`${file} cannot be read`, error);
  }
  const draft = `${file}.${process.pid}`;
  writeDurably(draft, `${secretBytes(32).toString(encoding)}\n`);
  try {
    linkSync(draft, file);
  } catch (error) {
    ignoring(error, 'another process made the secret first');
  }
  rmSync(draft);
  return readFileSync(file, 'utf8').trim();
}

function writeDurably(file: string, text: string): void {
  const fd = openSync(file, 'w', 0o600);
  writeSync(fd, text);
  fsyncSync(fd);
  closeSync(fd);
}
