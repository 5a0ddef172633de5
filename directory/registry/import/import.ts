// One import from file to version: reads the rows, with checkpoints; merges them into a table; stores the table in
// chunks; moves the pointer. Before the last step nothing has changed for readers, and every step may be repeated. It
// reports what it did and refuses a file that looks like a mistake.
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import type { KV } from '@nats-io/kv';
import { hostname } from 'node:os';
import { type Merged, mergeDelta, mergeSnapshot } from '../../../policy/registry/merge.ts';
import { openTable, readEntries, writeTable } from '../../../policy/registry/number-table.ts';
import { systemClock, type Clock } from '../../../platform/clock.ts';
import { SetupError, ignoring, messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { type Pointer, RegistryVersions, versionName } from '../versions.ts';
import { type Marks, carrierMarks, preferenceMarks } from './marks.ts';
import { type RowsRead, readRows, type ImportOrder } from './read-rows.ts';
import { openSource } from './source.ts';
import { Staging } from './staging.ts';
import type { RegistryName } from '../../../policy/registry/contract.ts';
import { log } from '../../../platform/log.ts';
import { create, readEntry, remove, replace } from '../../../cluster/bus/bucket.ts';

export type ImportReport = {
  readonly version: string;
  /** False: the file contains what was in effect already. */
  readonly changed: boolean;
  readonly numbers: number;
  readonly numbersBefore: number;
  readonly rows: RowsRead;
  readonly conflicts: number;
  /** Lines that an earlier import had read. */
  readonly resumedFrom: number;
};

export async function importRegistry(bus: Bus, order: ImportOrder): Promise<ImportReport> {
  const versions = await RegistryVersions.open(bus);
  const lock = await lockImport(versions.kv, order.name);
  try {
    return await importLocked(versions, order);
  } finally {
    await lock.release();
  }
}

async function importLocked(versions: RegistryVersions, order: ImportOrder): Promise<ImportReport> {
  const { name, configuration, onProgress } = order;
  const before = await versions.current(name);
  const base = before === null ? null : await versions.load(name, before.value);
  const source = await openSource(order.file);
  const identity = identityOf(order, source.identity, before);
  const { staging, found } = Staging.open(join(order.dataDir, 'registry-import', name), identity);
  try {
    const names = found?.names ?? (base === null ? [] : openTable(base, '').names);
    const marks: Marks = name === 'dnd' ? preferenceMarks(configuration) : carrierMarks(configuration, names);
    const rows = await readRows({ order, source, staging, found, marks, identity });
    onProgress('sorting and merging');
    const merged = merge(order, staging.entries(), base);
    refuseMistakes(order, rows, merged, before);
    const table = writeTable({
      callingCode: configuration.country.callingCode,
      entries: merged.entries,
      names: marks.names(),
    });
    const published = await publish(versions, order, table, before);
    const numbers = merged.entries.length;
    const report = { numbers, rows, conflicts: merged.conflicts, resumedFrom: found?.lines ?? 0 };
    staging.remove();
    return { ...published, ...report, numbersBefore: before?.value.count ?? 0 };
  } catch (error) {
    staging.close();
    throw error;
  }
}

/** What must be unchanged to continue an interrupted import: the file, and all that decides what a row means. */
function identityOf({ name, delta, configuration }: ImportOrder, source: string, before: Pointer | null): string {
  const { callingCode, nationalLengths, lengthsByPrefix, trunkPrefix, doNotDisturb, carrierNames } =
    configuration.country;
  const rules = [callingCode, nationalLengths, lengthsByPrefix, trunkPrefix, doNotDisturb, carrierNames];
  const known = name === 'ported' ? (before?.value.sha256 ?? '') : '';
  return createHash('sha256')
    .update(JSON.stringify([name, delta, source, known, rules]))
    .digest('hex');
}

function merge({ name, delta }: ImportOrder, rows: Float64Array, base: SharedArrayBuffer | null): Merged {
  if (delta) return mergeDelta(base === null ? new Float64Array(0) : readEntries(base), rows);
  return mergeSnapshot(rows, name === 'dnd' ? 'add' : 'conflict');
}

function refuseMistakes(order: ImportOrder, rows: RowsRead, { entries, conflicts }: Merged, before: Pointer | null) {
  const { numbersMax, shrinkShareMax } = limits.registry;
  if (rows.entries === 0) {
    const why = rows.shown.length === 0 ? '' : `. The first rows:\n${rows.shown.map((each) => `  ${each}`).join('\n')}`;
    throw new SetupError(`${order.file}: no row of it is a number; nothing was changed${why}`);
  }
  if (entries.length > numbersMax) {
    throw new SetupError(`${order.file}: ${entries.length} numbers, at most ${numbersMax} fit; nothing was changed`);
  }
  if (rows.badRows + conflicts > order.badRowsMax) {
    throw new SetupError(
      `${order.file}: ${conflicts} numbers are listed with two carriers (allowed with bad rows together: ${order.badRowsMax}); nothing was changed`,
    );
  }
  const had = before?.value.count ?? 0;
  if (!order.allowShrink && entries.length < had * (1 - shrinkShareMax)) {
    throw new SetupError(
      `${order.file}: ${entries.length} numbers would replace ${had}; nothing was changed. If that is right, add --allow-shrink; if the file lists changes only, add --delta`,
    );
  }
}

async function publish(versions: RegistryVersions, order: ImportOrder, table: Uint8Array, before: Pointer | null) {
  const same = before !== null && before.value.sha256 === createHash('sha256').update(table).digest('hex');
  if (same) return { version: versionName(before.value), changed: false };
  const about = {
    count: openTable(table.buffer, '').count,
    callingCode: order.configuration.country.callingCode,
    importedAtMs: systemClock.nowMs(),
    source: basename(order.file),
  };
  const pointer = await versions.publish(order.name, table, about, before, (share) =>
    order.onProgress(`storing ${Math.round(share * 100)} %`),
  );
  if (pointer === null) {
    throw new SetupError('another import finished first: nothing of this one was put into effect; start it again');
  }
  return { version: versionName(pointer), changed: true };
}

type Owner = { readonly host: string; readonly pid: number };
const { lockLapsesMs, lockRenewMs } = limits.registry;

/** Throws SetupError while another import of this registry is running. */
async function lockImport(kv: KV, name: RegistryName, clock: Clock = systemClock) {
  const key = `${name}.lock`;
  const us = JSON.stringify({ host: hostname(), pid: process.pid } satisfies Owner);
  let revision = await take(kv, key, us, name, clock);
  let renewing = Promise.resolve();
  const stop = clock.every(lockRenewMs, () => {
    renewing = kv.update(key, us, revision).then(
      (next) => {
        revision = next;
      },
      (error: unknown) => log.warn({ registry: name, error: messageOf(error) }, 'the import lock was not renewed'),
    );
  });
  return {
    async release(): Promise<void> {
      stop();
      await renewing;
      await remove(kv, key, revision).catch((error: unknown) => {
        ignoring(error, 'the lock lapses by itself');
      });
    },
  };
}

async function take(kv: KV, key: string, us: string, name: RegistryName, clock: Clock): Promise<number> {
  const taken = await create(kv, key, us);
  if (taken !== 'conflict') return taken.revision;
  const { entry, revision } = await readEntry(kv, key);
  // Released just now.
  if (entry === null) return take(kv, key, us, name, clock);
  const owner = entry.json<Owner>();
  if (!hasEnded(owner)) await clock.sleep(lockLapsesMs);
  const takenOver = await replace(kv, key, us, revision);
  if (takenOver !== 'conflict') return takenOver.revision;
  const { host, pid } = owner;
  throw new SetupError(
    `the ${name} registry is being imported by process ${pid} on ${host}: wait for it, or end that process`,
  );
}

/** Known for certain on this machine only. */
function hasEnded({ host, pid }: Owner): boolean {
  if (host !== hostname()) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
