// The actors process: carriers in threads, and the releaser of waiting messages. It is ready when every carrier has
// replayed its events and accepts work; whether binds are up is health, not readiness.
import { join } from 'node:path';
import { countTerminalEvent } from '../../actors/terminal-counters.ts';
import { ReleaseRules } from '../../actors/later/release-rules.ts';
import { Releasers } from '../../actors/later/releasers.ts';
import { openLeases } from '../../actors/lease/lease-keeper.ts';
import { singleNodeLeases } from '../../actors/lease/single-node-leases.ts';
import { serveRemoved } from '../../actors/removed/removed-carrier.ts';
import { RemovedCarriers } from '../../actors/removed/removed-carriers.ts';
import { ServedByOne, leasesWhenNeeded } from '../../actors/removed/served-by-one.ts';
import { runOtpEvents } from '../../actors/otp-events/otp-events.ts';
import { HostPool } from '../../actors/runtime/host-pool.ts';
import { systemClock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { secretBytes } from '../../platform/random.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { watchCarriers } from '../bus/carrier-heartbeat.ts';
import { clusterClock, ownClock } from '../bus/cluster-clock.ts';
import { EventWriter } from '../bus/event-writer.ts';
import { Publisher } from '../bus/publisher.ts';
import { actorsDrainMs } from '../../config/drain-times.ts';
import type { Configuration } from '../../config/configuration.ts';
import { loadNode } from '../../config/node-name.ts';
import { watchStreams } from '../bus/stream-gauges.ts';
import { type RegistryCache, registryCache } from '../../directory/registry/registry-cache.ts';
import { watchRegistries } from '../../directory/registry/registry-watcher.ts';
import { runRole } from '../supervisor/child-link.ts';
import { claimedBodyKeys, joinBus } from './role-start.ts';
import { routingRules } from './routing-rules.ts';
import { assert } from '../../platform/assert.ts';
import { portedTo } from '../../policy/registry/ported-to.ts';

/** The rules by which a message goes to another carrier. */
const failoverOf = ({ routing, otp }: Configuration) => ({ ...routing, hedging: otp.hedging });

/** Null: the flight recorder writes no files for lost sessions. */
const dumpsOf = (dataDir: string, kept: number) => (kept === 0 ? null : { folder: join(dataDir, 'flight'), kept });

/** The next releaser publishes the events of ended messages again, because their records were not acked. */
const eventsIdleMs = 500;
/** Identifies one incarnation of this process. */
const processBytes = 8;

runRole('actors', async (link) => {
  const joined = await joinBus('actors', 'carriers', link);
  const { settings, configuration, natsUrl, bus } = joined;
  const bodyKeys = await claimedBodyKeys(joined, link);
  let started: HostPool | null = null;
  let releases: { readonly registries: RegistryCache; readonly rules: ReleaseRules } | null = null;
  const keeper = await watchRegistries(bus, (registryUpdate) => {
    started?.registry(registryUpdate);
    releases?.registries.apply(registryUpdate);
  });
  const shared = settings.ownBus
    ? null
    : {
        ...loadNode(settings.dataDir, link.env),
        process: secretBytes(processBytes).toString('hex'),
        replicas: configuration.limits.streamReplicas,
      };
  const pool = new HostPool({
    carriers: configuration.carriers,
    moves: failoverOf(configuration),
    country: configuration.country,
    content: configuration.content,
    registries: () => keeper.registryUpdate(),
    simulated: settings.simulatedPorts,
    natsUrl,
    bodyKeys: bodyKeys.keys,
    accountQueueMax: configuration.limits.accountQueueMax,
    flightDumps: dumpsOf(settings.dataDir, configuration.actors.flightDumps),
    threads: configuration.actors.threads,
    shared,
  });
  await pool.start();
  started = pool;
  // A version may have arrived during the start.
  for (const registryUpdate of keeper.registryUpdate()) pool.registry(registryUpdate);
  // No deadline: the final events of scheduled messages must be published while this process runs.
  const eventPublisher = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const events = new EventWriter(eventPublisher, { onDurable: countTerminalEvent });
  const carriers = watchCarriers(bus);
  const registries = registryCache(keeper.registryUpdate());
  releases = {
    registries,
    rules: new ReleaseRules(routingRules(configuration), bodyCipher(bodyKeys.keys), carriers, (to) =>
      portedTo(registries.current(), to),
    ),
  };
  let inEffect = configuration;
  const clock = shared === null ? ownClock() : await clusterClock(bus, shared);
  const { rules } = releases;
  const [like] = configuration.carriers;
  assert(like !== undefined, 'the sandbox is always there');
  const removedLeases = leasesWhenNeeded(async () =>
    shared === null
      ? singleNodeLeases
      : openLeases(bus, { ...shared, thread: 'removed' }, shared.replicas, systemClock, () => clock.agrees),
  );
  const removed = new RemovedCarriers({
    bus,
    isConfigured: (name) => rules.isConfigured(name),
    unservedMs: settings.ownBus ? 0 : limits.removedCarriers.unservedMs,
    serve: async (name) =>
      new ServedByOne(await removedLeases.open(), name, () =>
        serveRemoved(name, {
          bus,
          cipher: bodyCipher(bodyKeys.keys),
          carriers,
          candidatesOf: (message) => rules.candidatesOf(message).candidates,
          like,
          clock,
        }),
      ),
  });
  removed.start();
  const scheduled = { rules, events, onRemoved: () => removed.lookSoon() };
  const releasers = new Releasers(bus, { scheduled, clock, mayRelease: () => clock.agrees });
  const stopStreams = watchStreams(bus);
  const otpEvents = runOtpEvents({
    bus,
    replicas: configuration.limits.streamReplicas,
    alone: settings.ownBus,
    clock: shared === null ? systemClock : clock,
  });
  void releasers
    .start()
    .catch((error: unknown) => log.error({ error: messageOf(error) }, 'waiting messages cannot be released'));

  return {
    metrics: async () => (await pool.metrics()).flat(),
    configure: async (next) => {
      inEffect = next;
      releases?.rules.configure(routingRules(next));
      const { carriers, country, content } = next;
      return pool.configure({ carriers, moves: failoverOf(next), country, content });
    },
    health: () => {
      const down = pool.hostsDown;
      if (down.length > 0) return { ok: false, detail: `threads down: ${down.join(', ')}` };
      const binds = pool.status.map(
        ({ carrier, bindsBound, bindsWanted, elsewhere, state, why }) =>
          `${carrier} ${bindsBound}/${bindsWanted}${elsewhere === 0 ? '' : ` (${elsewhere} held elsewhere)`}${state === 'good' ? '' : ` ${state} (${why})`}`,
      );
      if (!clock.agrees) return { ok: false, detail: 'this machine’s clock differs from the others’' };
      return { ok: true, detail: `binds: ${binds.join(', ')}` };
    },
    drainMs: () => actorsDrainMs(inEffect),
    async drain(deadlineMs) {
      keeper.stop();
      stopStreams();
      await Promise.all([releasers.stop(), removed.stop(), otpEvents.stop()]);
      await removedLeases.close();
      clock.stop();
      await pool.drain(deadlineMs);
      carriers.stop();
      events.flush();
      await Promise.race([eventPublisher.idle(), systemClock.sleep(eventsIdleMs)]);
      events.close();
      eventPublisher.close();
      await bus.close();
    },
  };
});
