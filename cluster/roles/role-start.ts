// What roles begin with: their settings and configuration, a connection to NATS with its streams, the body keys, and the
// clock: this machine's own when its nats-server is its own, otherwise the time that the machines agree on.
import type { Configuration } from '../../config/configuration.ts';
import { loadConfiguration } from '../../config/load.ts';
import { loadNode } from '../../config/node-name.ts';
import { type Settings, loadSettings } from '../../config/settings.ts';
import type { BodyKeys } from '../../model/records/body-keys.ts';
import { SetupError } from '../../platform/errors.ts';
import { claimBodyKeys } from '../bus/body-keys-in-use.ts';
import { type ClusterClock, clusterClock, ownClock } from '../bus/cluster-clock.ts';
import { type Bus, connectBus } from '../bus/connect.ts';
import { ensureStreams } from '../bus/ensure.ts';
import { loadBodyKeys } from '../embedded/secrets.ts';
import type { NatsRole } from '../embedded/nats-permissions.ts';
import type { ChildLink } from '../supervisor/child-link.ts';

/** `called`: the role in HELIOGRAPH_ROLES. */
export async function joinBus(role: NatsRole, called: string, { env }: ChildLink) {
  const settings = loadSettings(env);
  const configuration = await loadConfiguration(settings.configFile, env);
  const { natsUrl } = settings;
  if (natsUrl === null) throw new SetupError(`NATS_URL: the ${called} role needs a NATS server`);
  const bus = await connectBus(natsUrl, role);
  await ensureStreams(bus, configuration.limits);
  return { settings, configuration, natsUrl, bus };
}

type Given = {
  readonly bus: Bus;
  readonly settings: Pick<Settings, 'ownBus' | 'dataDir'>;
  readonly configuration: { readonly limits: Pick<Configuration['limits'], 'streamReplicas'> };
};

/** This machine's body keys. Rejects when messages on this NATS are sealed with another one. */
export async function claimedBodyKeys({ bus, settings, configuration }: Given, { env }: ChildLink): Promise<BodyKeys> {
  const bodyKeys = loadBodyKeys(settings.dataDir, env);
  await claimBodyKeys(bus, bodyKeys, configuration.limits.streamReplicas);
  return bodyKeys;
}

/** Resolves after the first comparison. */
export async function roleClock({ bus, settings, configuration }: Given, { env }: ChildLink): Promise<ClusterClock> {
  if (settings.ownBus) return ownClock();
  const { node } = loadNode(settings.dataDir, env);
  return clusterClock(bus, { node, replicas: configuration.limits.streamReplicas });
}
