// One import per registry at a time, over all nodes: a key that its owner renews. An owner that stopped is detected by
// the key not changing, not by comparing clocks. It only avoids double work; the compare-and-set of the pointer
// protects versions.
import type { KV } from '@nats-io/kv';
import { hostname } from 'node:os';
import type { RegistryName } from '../../../policy/registry/contract.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { SetupError, ignoring, messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { create, readEntry, remove, replace } from '../../../cluster/bus/bucket.ts';

type ImportLock = { release(): Promise<void> };

type Owner = { readonly host: string; readonly pid: number };
const { lockLapsesMs, lockRenewMs } = limits.registry;

/** Throws SetupError while another import of this registry is running. */
export async function lockImport(kv: KV, name: RegistryName, clock: Clock = systemClock): Promise<ImportLock> {
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
    async release() {
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
  if (takenOver === 'conflict') throw inUse(name, owner);
  return takenOver.revision;
}

function inUse(name: RegistryName, { host, pid }: Owner): SetupError {
  return new SetupError(
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
