// What the doctor says of the version of nats-server: in a cluster older ones have faults that no client can hide.

/** From here on a compare-and-set of a new key is checked in a cluster, and a repeat of what is not stored is refused. */
const clusterMin = [2, 10, 26] as const;

/** A version that cannot be read counts as old. */
export function isOldForCluster(version: string): boolean {
  const parts = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number);
  if (parts === undefined) return true;
  const place = clusterMin.findIndex((least, index) => parts[index] !== least);
  return place >= 0 && (parts[place] as number) < (clusterMin[place] as number);
}

/** Null when nothing is to be said: streams with one copy, or a server that is new enough. */
export function noteOnCluster(version: string, streamReplicas: number): string | null {
  if (streamReplicas <= 1 || !isOldForCluster(version)) return null;
  const min = clusterMin.join('.');
  return `nats-server ${version} in a cluster (limits.stream_replicas ${streamReplicas}): use ${min} or newer, docs/upgrades.md says why`;
}
