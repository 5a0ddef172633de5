// Finds the nats-server that set-up installed, or one on PATH. Only set-up downloads.
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { SetupError, ignoring } from '../../platform/errors.ts';

/** The path of the program. Throws SetupError when there is none. */
export function natsServerBinary(env: Record<string, string | undefined> = process.env): string {
  const candidates = [
    env['HELIOGRAPH_NATS_SERVER'],
    rememberedBySetup(),
    ...(env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'nats-server')),
  ];
  const found = candidates.find((path) => path !== undefined && path !== '' && isProgram(path));
  if (found !== undefined) return found;
  throw new SetupError(
    'nats-server is missing: run `npm start` once with network access, install nats-server 2.9 or newer, or set NATS_URL',
  );
}

const rememberedFile = join(import.meta.dirname, '..', '..', '.runtime', 'nats-server.json');

function rememberedBySetup(): string | undefined {
  try {
    return (JSON.parse(readFileSync(rememberedFile, 'utf8')) as { path: string }).path;
  } catch (error) {
    ignoring(error, 'set-up has not remembered a nats-server');
    return undefined;
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch (error) {
    ignoring(error, 'not a program');
    return false;
  }
}
