// `keys rotate-body`: a new key for the bodies on the bus. On one machine it is written before the old ones in the data
// folder; where the keys come from the environment it says what to set, and on which machines first.
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import { bodyKeyId, bodyKeysText, parseBodyKeys } from '../bus/body-keys.ts';
import { readConfiguration } from '../config/load.ts';
import { loadSettings } from '../config/settings.ts';
import { rotateBodyKey } from '../embedded/secrets.ts';
import { print } from './print.ts';

const dayMs = 86_400_000;

export async function rotateBodyCommand(options: { json?: boolean }): Promise<void> {
  const { dataDir, configFile } = loadSettings();
  const told = process.env['HELIOGRAPH_BODY_KEY'] ?? '';
  const keptDays = Math.max((await readConfiguration(configFile)).retention.historyDays, limits.bus.laterDaysMax) + 1;
  if (told === '') rotateHere(options, dataDir, keptDays);
  else sayWhatToSet(options, told, keptDays);
}

function rotateHere(options: { json?: boolean }, dataDir: string, keptDays: number): void {
  const { sealing, kept, gone } = rotateBodyKey(dataDir, systemClock.nowMs(), keptDays * dayMs);
  const until = (ms: number) => new Date(ms).toISOString();
  print(options, { sealing, kept: kept.map(({ id, untilMs }) => ({ id, until: until(untilMs) })), gone }, [
    `Sealing  ${sealing}  from the next start on: stop Heliograph and start it again`,
    ...kept.map(
      ({ id, untilMs }) => `Kept     ${id}  opens what it sealed; nothing of it is left after ${until(untilMs)}`,
    ),
    ...gone.map((id) => `Gone     ${id}  nothing sealed with it is left`),
    `Copy ${dataDir}/secrets/body-key to where you keep it.`,
  ]);
}

function sayWhatToSet(options: { json?: boolean }, told: string, keptDays: number): void {
  const before = parseBodyKeys(told);
  const fresh = secretBytes(32);
  const [sealing, ...others] = before.keys;
  const first = bodyKeysText({ ...before, keys: [...(sealing === undefined ? [] : [sealing]), fresh, ...others] });
  const afterwards = bodyKeysText({ ...before, keys: [fresh, ...before.keys] });
  const old = before.keys.map(bodyKeyId);
  print(options, { sealing: bodyKeyId(fresh), first, second: afterwards, kept: old }, [
    `New key ${bodyKeyId(fresh)}. Nothing is changed yet. The keys come from HELIOGRAPH_BODY_KEY, so in this order:`,
    '1. On every machine, one at a time, set this and restart; the new key opens, the old one still seals:',
    `   HELIOGRAPH_BODY_KEY=${first}`,
    '2. When all have it, again on every machine; the new key seals:',
    `   HELIOGRAPH_BODY_KEY=${afterwards}`,
    `3. After ${keptDays} days nothing is left that ${old.join(', ')} sealed: put ${old.map((id) => `gone:${id}`).join(',')} in place of the old keys`,
  ]);
}
