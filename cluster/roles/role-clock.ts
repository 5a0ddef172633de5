// The clock of a role: this machine's own when its nats-server is its own, otherwise the time that the machines agree
// on.
import { type ClusterClock, clusterClock, ownClock } from '../bus/cluster-clock.ts';
import type { Bus } from '../bus/connect.ts';
import type { Configuration } from '../../config/configuration.ts';
import { loadNode } from '../../config/node-name.ts';
import type { Settings } from '../../config/settings.ts';

type Given = {
  readonly bus: Bus;
  readonly settings: Pick<Settings, 'ownBus' | 'dataDir'>;
  readonly env: Record<string, string | undefined>;
  readonly limits: Pick<Configuration['limits'], 'streamReplicas'>;
};

/** Resolves after the first comparison. */
export async function roleClock({ bus, settings, env, limits }: Given): Promise<ClusterClock> {
  if (settings.ownBus) return ownClock();
  return clusterClock(bus, { node: loadNode(settings.dataDir, env).node, replicas: limits.streamReplicas });
}
