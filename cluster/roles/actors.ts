// The actors process: carriers in threads, and the release of LATER. It is ready when every carrier has
// replayed its events and takes work; whether a carrier's binds are up is health, not readiness.
import { LaterReleaser } from '../../actors/later/releaser.ts';
import { HostPool } from '../../actors/runtime/host-pool.ts';
import { messageOf } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { connectBus } from '../bus/connect.ts';
import { ensureStreams } from '../bus/ensure.ts';
import { Publisher } from '../bus/publisher.ts';
import { loadConfiguration } from '../config/load.ts';
import { loadSettings } from '../config/settings.ts';
import { loadSecrets } from '../embedded/secrets.ts';
import { keepRegistries } from '../registry/keeper.ts';
import { runRole } from '../supervisor/child-link.ts';
import { assert } from '../../platform/assert.ts';

runRole('actors', async () => {
  const settings = loadSettings();
  const configuration = await loadConfiguration(settings.configFile);
  assert(settings.natsUrl !== null, 'the supervisor tells its children where NATS is');
  const bus = await connectBus(settings.natsUrl, 'actors');
  await ensureStreams(bus, configuration.limits);
  const publisher = new Publisher(bus);
  let started: HostPool | null = null;
  const keeper = await keepRegistries(bus, (news) => started?.registry(news));
  const pool = new HostPool({
    carriers: configuration.carriers,
    moves: configuration.routing,
    country: configuration.country,
    registries: () => keeper.news(),
    simulated: settings.simulatedPorts,
    natsUrl: settings.natsUrl,
    bodyKey: loadSecrets(settings.dataDir).bodyKey,
    threads: configuration.actors.threads,
  });
  await pool.start();
  started = pool;
  // One may have come while they started.
  for (const news of keeper.news()) pool.registry(news);
  const releaser = new LaterReleaser(bus, publisher);
  void releaser.start().catch((error: unknown) => log.error({ error: messageOf(error) }, 'LATER cannot be released'));

  return {
    metrics: async () => (await pool.metrics()).flat(),
    configure: async ({ carriers, routing, country }) => pool.configure(carriers, routing, country),
    health: () => {
      const down = pool.hostsDown;
      if (down.length > 0) return { ok: false, detail: `threads down: ${down.join(', ')}` };
      const binds = pool.status.map((each) => `${each.carrier} ${each.bindsBound}/${each.bindsWanted}`);
      return { ok: true, detail: `binds: ${binds.join(', ')}` };
    },
    async drain(deadlineMs) {
      keeper.stop();
      await releaser.stop();
      await pool.drain(deadlineMs);
      await publisher.idle();
      publisher.close();
      await bus.close();
    },
  };
});
