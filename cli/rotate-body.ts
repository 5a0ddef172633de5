// `keys rotate-body`: a new key for the bodies on the bus. Keys in the data folder: writes the new one before the old
// ones. Keys in the environment: prints what to set, and in which order.
import { systemClock } from '../platform/clock.ts';
import { ignoring } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { secretBytes } from '../platform/random.ts';
import { bodyKeyId, bodyKeysText, parseBodyKeys } from '../model/records/body-keys.ts';
import { readConfiguration } from '../config/load.ts';
import { loadSettings } from '../config/settings.ts';
import { loadBodyKeys, rotateBodyKey } from '../cluster/embedded/secrets.ts';
import { type AuditNote, keepNoteForAudit, noteForAudit } from '../control/audit-notes.ts';
import { effectiveConfigFileOrWarn } from './effective-config-file.ts';
import { operatorName } from './operator-name.ts';
import type { Result } from './print.ts';
import { withBus } from './with-bus.ts';

const dayMs = 86_400_000;

export async function rotateBodyCommand(): Promise<Result> {
  const { dataDir } = loadSettings();
  const { file, isRunning } = effectiveConfigFileOrWarn();
  const given = process.env['HELIOGRAPH_BODY_KEY'] ?? '';
  const keptDays = Math.max((await readConfiguration(file)).retention.historyDays, limits.bus.laterDaysMax) + 1;
  // Without a running system or a named file, the next start may use another file: then no key is removed.
  const isKnown = isRunning || Boolean(process.env['HELIOGRAPH_CONFIG']);
  return given === '' ? rotateHere(dataDir, isKnown ? keptDays : null) : whatToSet(given, keptDays);
}

async function rotateHere(dataDir: string, keptDays: number | null): Promise<Result> {
  const [before] = loadBodyKeys(dataDir, {}).keys;
  const keptMs = keptDays === null ? null : keptDays * dayMs;
  const { sealing, kept, gone } = rotateBodyKey(dataDir, systemClock.nowMs(), keptMs);
  await note(dataDir, {
    action: 'body_key.rotated',
    target: 'body-key',
    detail: { sealing: { from: before === undefined ? null : bodyKeyId(before), to: sealing }, gone },
    by: operatorName(),
  });
  const until = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  const howLong = (ms: number | null) => {
    if (ms !== null) return `; everything sealed with it is deleted by ${until(ms)}`;
    return keptDays === null ? '' : `; everything sealed with it is deleted ${keptDays} days after that start`;
  };
  const lines = [
    `Sealing  ${sealing}  from the next start on: stop Heliograph and start it again`,
    ...kept.map(({ id, untilMs }) => `Kept     ${id}  opens what was sealed with it${howLong(untilMs)}`),
    ...gone.map((id) => `Gone     ${id}  nothing sealed with it is left`),
    ...(keptDays === null
      ? ['No old key was removed: only the running system knows how long history is kept. Rotate while it runs.']
      : []),
    `Copy ${dataDir}/secrets/body-key to your backup.`,
  ];
  return { json: { sealing, kept: kept.map(({ id, untilMs }) => ({ id, until: until(untilMs) })), gone }, lines };
}

/** Over the bus if the system runs, otherwise stored for the next start. */
async function note(dataDir: string, given: AuditNote): Promise<void> {
  try {
    await withBus((bus) => noteForAudit(bus, given));
  } catch (error) {
    ignoring(error, 'the next start publishes the record for the audit log');
    keepNoteForAudit(dataDir, given);
  }
}

function whatToSet(given: string, keptDays: number): Result {
  const before = parseBodyKeys(given);
  const fresh = secretBytes(32);
  const [sealing, ...others] = before.keys;
  const first = bodyKeysText({ ...before, keys: [...(sealing === undefined ? [] : [sealing]), fresh, ...others] });
  const afterwards = bodyKeysText({ ...before, keys: [fresh, ...before.keys] });
  const old = before.keys.map(bodyKeyId);
  const lines = [
    `New key ${bodyKeyId(fresh)}. Nothing has changed yet. The keys come from HELIOGRAPH_BODY_KEY, so do this in order:`,
    '1. On every machine, one at a time, set this and restart (the new key opens, the old one still seals):',
    `   HELIOGRAPH_BODY_KEY=${first}`,
    '2. When all machines have it, set this on each and restart (the new key seals):',
    `   HELIOGRAPH_BODY_KEY=${afterwards}`,
    `3. After ${keptDays} days nothing is left that ${old.join(', ')} sealed: put ${old.map((id) => `gone:${id}`).join(',')} in place of the old keys`,
  ];
  return { json: { sealing: bodyKeyId(fresh), first, second: afterwards, kept: old }, lines };
}
