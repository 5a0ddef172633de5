// Audit records of changes outside the database: imports of registries, reloads of the configuration, new body keys,
// the release of the directory. Each is durable in the stream of operator commands before the change is reported done;
// the control role copies it into PostgreSQL when that is available.
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { newAuditId } from '../model/ids.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { RejectMessage, messageOf } from '../platform/errors.ts';
import { publishForAudit } from '../cluster/operator-commands/commands.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { auditNoteSubject } from '../cluster/bus/subjects.ts';
import { type AuditAction, auditActions } from './store/audit-actions.ts';
import type { NewAuditRecord } from './store/audit-log.ts';
import type { Actor } from './store/store.ts';

export type AuditNote = {
  readonly action: AuditAction;
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly by: Actor;
};

/** Resolves when the record is durable on the bus; rejects when that is unknown. */
export async function noteForAudit(bus: Bus, note: AuditNote, clock: Clock = systemClock): Promise<void> {
  const { recordId, text } = recordOf(note, clock);
  await publishForAudit(bus, auditNoteSubject, text, recordId);
}

/** Keeps the record in the data folder when no NATS is running: the control role publishes it at its next start. */
export function keepNoteForAudit(dataDir: string, note: AuditNote): void {
  const { recordId, text } = recordOf(note, systemClock);
  const folder = keptIn(dataDir);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, `.${recordId}`), text, { mode: 0o600, flush: true });
  renameSync(join(folder, `.${recordId}`), join(folder, recordId));
}

/** Publishes the records kept in the data folder; resolves when all are durable. */
export async function bringKeptNotes(bus: Bus, dataDir: string): Promise<void> {
  const folder = keptIn(dataDir);
  if (!existsSync(folder)) return;
  for (const recordId of readdirSync(folder).sort()) {
    if (recordId.startsWith('.')) continue;
    await publishForAudit(bus, auditNoteSubject, readFileSync(join(folder, recordId), 'utf8'), recordId);
    rmSync(join(folder, recordId));
  }
}

const keptIn = (dataDir: string) => join(dataDir, 'audit-notes');

function recordOf({ action, target, detail, by }: AuditNote, clock: Clock) {
  const atMs = clock.nowMs();
  const recordId = newAuditId(atMs);
  const text = JSON.stringify({ v: 1, recordId, atMs, actor: by.name, origin: by.from, action, target, detail });
  return { recordId, text };
}

/** The actor of changes to files on this machine. */
export const thisMachine = (): Actor => ({ name: 'operator', from: hostname() });

/** Throws RejectMessage('poison_record') for octets that are no audit record of this version. */
export function decodeAuditNote(octets: Uint8Array): NewAuditRecord {
  try {
    const read = JSON.parse(Buffer.from(octets).toString('utf8')) as Record<string, unknown>;
    const { v, recordId, atMs, actor, origin, action, target, detail } = read;
    const isSound =
      v === 1 &&
      [recordId, actor, origin, target].every((each) => typeof each === 'string') &&
      Number.isSafeInteger(atMs) &&
      auditActions.some((each) => each === action) &&
      typeof detail === 'object' &&
      detail !== null;
    if (!isSound) throw new Error('a field is missing or has another kind of value');
    return { recordId, atMs, actor, origin, action, target, detail } as NewAuditRecord;
  } catch (error) {
    throw new RejectMessage('poison_record', `not a readable record for the audit log: ${messageOf(error)}`);
  }
}
