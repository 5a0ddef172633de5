// The doctor's checks of nats-server: its version, because older ones have faults in a cluster that clients cannot
// compensate, and its clock, which must agree with this machine's.
import { limits } from '../platform/limits.ts';
import { aheadOfServerMs } from '../cluster/bus/cluster-clock.ts';
import { connectBus } from '../cluster/bus/connect.ts';
import { openBucket } from '../cluster/bus/ensure.ts';
import { closing } from './with-bus.ts';

/** From this version on a cluster checks the compare-and-set of a new key and refuses repeats of unstored records. */
const clusterMin = [2, 10, 26] as const;

/** An unreadable version counts as old. */
export function isOldForCluster(version: string): boolean {
  const parts = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number);
  if (parts === undefined) return true;
  const place = clusterMin.findIndex((least, index) => parts[index] !== least);
  return place >= 0 && (parts[place] as number) < (clusterMin[place] as number);
}

/** Null with one replica or a new enough server. */
export function noteOnCluster(version: string, streamReplicas: number): string | null {
  if (streamReplicas <= 1 || !isOldForCluster(version)) return null;
  const min = clusterMin.join('.');
  return `nats-server ${version} in a cluster (limits.stream_replicas ${streamReplicas}): use ${min} or newer, docs/upgrades.md says why`;
}

/** Rejects when the clocks differ too much for the system to work. */
export async function clockState(url: string, withinMs: number): Promise<string> {
  const aheadMs = await closing(await connectBus(url, 'doctor', withinMs), async (bus) => {
    await openBucket(bus, 'clock');
    return aheadOfServerMs(bus);
  });
  if (aheadMs === null) return 'the response of nats-server took too long to compare clocks';
  const seconds = (aheadMs / 1_000).toFixed(3);
  if (Math.abs(aheadMs) > limits.clusterClock.offMsMax)
    throw new Error(`this machine's clock is ${seconds} s ahead of the nats-server's: set one of them right (NTP)`);
  return `${seconds} s ahead of the nats-server's`;
}
