// `directory owner|release`, and the same check for the doctor. Uses only NATS: an operator who releases the directory
// has no valid database, and the wrong one must not be queried.
import { readFileSync } from 'node:fs';
import { SetupError, ignoring } from '../platform/errors.ts';
import { connectBus } from '../cluster/bus/connect.ts';
import {
  type DirectoryOwner,
  OwnedByAnother,
  directoryOwner,
  releaseDirectory,
  sinceOf,
} from '../control/projection/owner.ts';
import { databaseNameFile, installationIdOrNull, openStore } from '../control/store/store.ts';
import { noteForAudit } from '../control/audit-notes.ts';
import { operatorName } from './operator-name.ts';
import type { Result } from './print.ts';
import { closing, withBus } from './with-bus.ts';

export async function ownerCommand(): Promise<Result> {
  const owner = await withBus(directoryOwner);
  return shown(owner, owner === null ? 'None: the next control role becomes the owner' : lineOf(owner));
}

export async function releaseCommand({ yes = false }: { yes?: boolean }): Promise<Result> {
  if (!yes) {
    throw new SetupError(
      'The next control role that starts becomes the owner of the directory: accounts and keys that its PostgreSQL does not have are refused from then on. Stop every control role of the old one first, then: heliograph directory release --yes',
    );
  }
  const owner = await withBus(async (bus) => {
    const before = await directoryOwner(bus);
    if (before === null) return null;
    // Audited first: a release that cannot be audited must not happen.
    const detail = { database: before.database, since: new Date(before.sinceMs).toISOString(), host: before.host };
    await noteForAudit(bus, { action: 'directory.released', target: 'directory', detail, by: operatorName() });
    return releaseDirectory(bus);
  });
  return shown(owner, owner === null ? 'It had no owner' : `Released  ${lineOf(owner)}`);
}

const lineOf = (owner: DirectoryOwner) => `database ${owner.database}, ${sinceOf(owner)}`;

function shown(owner: DirectoryOwner | null, line: string): Result {
  if (owner === null) return { json: { object: 'directory_owner', database: null }, lines: [line] };
  const { database, sinceMs, host } = owner;
  return { json: { object: 'directory_owner', database, since: new Date(sinceMs).toISOString(), host }, lines: [line] };
}

export type DirectoryCheck = {
  readonly natsUrl: string;
  /** Null: this machine's embedded database, which is not running. */
  readonly databaseUrl: string | null;
  readonly dataDir: string;
};

/** The doctor's line about the directory. Throws OwnedByAnother when this machine's control role would not start. */
export async function directoryState({ natsUrl, databaseUrl, dataDir }: DirectoryCheck): Promise<string> {
  const owner = await closing(await connectBus(natsUrl, 'doctor', answersWithinMs), directoryOwner);
  if (owner === null) return 'not filled yet';
  const ours = databaseUrl === null ? lastUsed(dataDir) : await closing(openStore(databaseUrl), installationIdOrNull);
  if (owner.database !== ours) throw new OwnedByAnother(owner, ours ?? 'a new one');
  return `projected from ${lineOf(owner)}`;
}

const answersWithinMs = 3_000;

function lastUsed(dataDir: string): string | null {
  try {
    return readFileSync(databaseNameFile(dataDir), 'utf8').trim();
  } catch (error) {
    ignoring(error, 'no control role has run on this data folder');
    return null;
  }
}
