// The ingress role: reads settings, configuration and the body key, and starts the listening threads. Its main thread
// carries no traffic, so that it always answers the supervisor. The ingress itself is in api/http/.
import { type IngressThreads, startThreads } from '../../api/http/threads.ts';
import { loadNode } from '../../config/node-name.ts';
import { watchRegistries } from '../../directory/registry/registry-watcher.ts';
import { runRole } from '../supervisor/child-link.ts';
import type { Configuration } from '../../config/configuration.ts';
import { claimedBodyKeys, joinBus } from './role-start.ts';
import { routingRules } from './routing-rules.ts';

runRole('ingress', async (link) => {
  const joined = await joinBus('ingress', 'ingress', link);
  const { settings, configuration, natsUrl, bus } = joined;
  const bodyKeys = await claimedBodyKeys(joined, link);
  let threads: IngressThreads | null = null;
  const keeper = await watchRegistries(bus, (registryUpdate) => threads?.registry(registryUpdate));

  threads = await startThreads(Math.max(1, configuration.ingress.threads), {
    natsUrl,
    node: settings.ownBus ? null : loadNode(settings.dataDir, link.env).node,
    host: settings.httpHost,
    port: settings.httpPort,
    controlPort: settings.controlPort,
    controlSecret: settings.controlSecret,
    bodyKeys: bodyKeys.keys,
    rules: requestRules(configuration, settings.httpPort),
    links: {
      linkDays: configuration.limits.linkDays,
      fallbackUrl: configuration.links.fallbackUrl,
      storeAddresses: configuration.links.storeAddresses,
    },
    proxies: {
      trustedProxies: configuration.ingress.trustedProxies,
      proxyHeader: configuration.ingress.proxyHeader,
    },
    shares: configuration.limits.shares,
    registries: keeper.registryUpdate(),
  });
  const running = threads;
  // A version may have arrived during the start.
  for (const registryUpdate of keeper.registryUpdate()) running.registry(registryUpdate);
  return {
    ready: { port: running.port },
    health: () => running.health(),
    metrics: () => running.metrics(),
    configure: async (next) => running.configure(requestRules(next, settings.httpPort)),
    async drain(deadlineMs) {
      keeper.stop();
      await running.drain(deadlineMs - drainMarginMs);
      await bus.close();
    },
  };
});

const requestRules = (configuration: Configuration, httpPort: number) => ({
  routing: routingRules(configuration, httpPort),
  otp: configuration.otp,
});

/** The process must have ended before its own deadline. */
const drainMarginMs = 200;
