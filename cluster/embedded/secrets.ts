// Secrets a single machine makes for itself, in files only their owner can read. They are generated once and
// kept: losing `body-key` means losing every body in the streams. Never logged, never in a command line.
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { FixSetup, ignoring } from '../../platform/errors.ts';
import { secretBytes } from '../../platform/random.ts';

export type Secrets = {
  /** AES-256 key for message bodies: HELIOGRAPH_BODY_KEY, or one of our own. */
  bodyKey: Buffer;
  natsPassword: string;
  postgresPassword: string;
};

export function loadSecrets(dataDir: string, env: Record<string, string | undefined> = process.env): Secrets {
  const folder = join(dataDir, 'secrets');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  return {
    bodyKey: bodyKeyOf(env['HELIOGRAPH_BODY_KEY'] || secretFile(join(folder, 'body-key'), 'base64')),
    natsPassword: secretFile(join(folder, 'nats-password'), 'base64url'),
    postgresPassword: secretFile(join(folder, 'postgres-password'), 'base64url'),
  };
}

/** Base64 of exactly 32 bytes → the key. Throws FixSetup otherwise. */
export function bodyKeyOf(text: string): Buffer {
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length !== 32) {
    throw new FixSetup(
      `HELIOGRAPH_BODY_KEY: found ${key.length} bytes, expected 32 bytes in base64 (make one with: openssl rand -base64 32)`,
    );
  }
  return key;
}

/** Reads the file, or makes it with 32 fresh random bytes. Two processes at once end up with the same one. */
function secretFile(file: string, encoding: 'base64' | 'base64url'): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw new FixSetup(`${file} cannot be read`, error);
  }
  const draft = `${file}.${process.pid}`;
  const fd = openSync(draft, 'w', 0o600);
  writeSync(fd, `${secretBytes(32).toString(encoding)}\n`);
  fsyncSync(fd);
  closeSync(fd);
  try {
    linkSync(draft, file);
  } catch (error) {
    ignoring(error, 'another process made the secret first');
  }
  rmSync(draft);
  return readFileSync(file, 'utf8').trim();
}
