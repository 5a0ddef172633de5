// Keeps the registries of a process up to date: checks twice a second for a new version, loads it whole into shared
// memory, and publishes it to the threads. Until a new version is complete the old one is used; one that cannot be
// loaded only raises an alarm. It runs in the process's main thread, never in one that carries traffic.
import { type RegistryName, registryNames } from '../../policy/registry/contract.ts';
import { systemClock } from '../../platform/clock.ts';
import { JetStreamApiError } from '@nats-io/jetstream';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import { withDeadline } from '../../platform/deadline.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { RegistryVersionEvent } from './contract.ts';
import { type Pointer, RegistryVersions, versionName } from './versions.ts';

export type RegistryWatcher = Awaited<ReturnType<typeof watchRegistries>>;

/** Resolves after the first check, so that no message passes before the registries were checked. */
export async function watchRegistries(bus: Bus, onVersion: (registryUpdate: RegistryVersionEvent) => void) {
  const versions = await RegistryVersions.open(bus);
  const held = new Map<RegistryName, RegistryVersionEvent>();
  let stopped = false;
  let looking = false;
  const failing = new Set<RegistryName>();
  /** Their pointer has been read once. */
  const read = new Set<RegistryName>();

  async function look(name: RegistryName): Promise<void> {
    const pointer = await pointerOf(name);
    if (pointer === 'unanswered') {
      if (!read.has(name)) publish({ name, version: 'unknown' });
      return;
    }
    read.add(name);
    if (pointer === null) {
      // A version in memory is better than a bucket that lost its own.
      if (held.get(name)?.version === 'unknown') publish({ name, version: 'none' });
      return;
    }
    const version = versionName(pointer.value);
    if (held.get(name)?.version === version) return;
    try {
      const loading = versions.load(name, pointer.value);
      const buffer = await withDeadline(`the ${name} registry`, limits.registry.loadTimeoutMs, loading);
      publish({ name, version, buffer });
      metrics.registryLoads.inc({ registry: name, ended: 'complete' });
      metrics.registryNumbers.set({ registry: name }, pointer.value.count);
      metrics.registryVersion.set({ registry: name }, pointer.value.number);
      log.info({ registry: name, version, numbers: pointer.value.count }, 'registry version in effect');
    } catch (error) {
      metrics.registryLoads.inc({ registry: name, ended: 'failed' });
      throw error;
    }
  }

  /** A nats-server that does not answer says nothing of a registry, not even that there is one. */
  async function pointerOf(name: RegistryName): Promise<Pointer | null | 'unanswered'> {
    try {
      return await versions.current(name);
    } catch (error) {
      if (error instanceof JetStreamApiError || error instanceof SyntaxError) throw error;
      ignoring(error, 'NATS did not answer: the registry is looked at again');
      return 'unanswered';
    }
  }

  function publish(registryUpdate: RegistryVersionEvent): void {
    if (stopped || held.get(registryUpdate.name)?.version === registryUpdate.version) return;
    held.set(registryUpdate.name, registryUpdate);
    onVersion(registryUpdate);
  }

  async function lookAtAll(): Promise<void> {
    for (const name of registryNames) {
      try {
        await look(name);
        // The end of an alarm is logged at a level that is shown wherever the alarm was.
        if (failing.delete(name)) log.warn({ registry: name }, 'the registry is in effect as it was imported');
      } catch (error) {
        // The bus was closed meanwhile.
        if (stopped) return;
        if (!held.has(name)) publish({ name, version: 'unknown' });
        // Logged once, not twice a second.
        if (failing.has(name)) continue;
        failing.add(name);
        log.error(
          { alarm: 'registry_not_loaded', registry: name, error: messageOf(error) },
          'a registry version cannot be loaded: the previous one stays in effect',
        );
      }
    }
  }

  await lookAtAll();
  const stopLooking = systemClock.every(limits.registry.lookEveryMs, () => {
    if (looking || !bus.connected()) return;
    looking = true;
    void lookAtAll().then(() => {
      looking = false;
    });
  });

  return {
    /** What every new thread gets at its start. */
    registryUpdate: (): readonly RegistryVersionEvent[] => [...held.values()],
    stop() {
      stopped = true;
      stopLooking();
    },
  };
}
