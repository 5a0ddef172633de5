// One Piscina worker thread: it hosts whole carriers from start to drain, so its one task ends with the thread's work.
// It owns the thread's bus connection, publisher and binds.
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { watchCarriers } from '../../cluster/bus/carrier-heartbeat.ts';
import { type Bus, connectBus } from '../../cluster/bus/connect.ts';
import { takeFromFallback } from '../../cluster/bus/dead-letter-fallback.ts';
import { type ClusterClock, clusterClock, ownClock } from '../../cluster/bus/cluster-clock.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { openDirectory } from '../../directory/directory.ts';
import { answerForCarriers } from '../../cluster/operator-commands/reports.ts';
import { watchCommands } from '../../cluster/operator-commands/watch-commands.ts';
import { registryCache } from '../../directory/registry/registry-cache.ts';
import type { AccountId } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { answerMetrics } from '../../platform/message-link.ts';
import { addressForms } from '../../policy/country/address-forms.ts';
import { operatorPrefixes } from '../../policy/country/number-plan.ts';
import { lateGates } from '../../policy/late/late-gates.ts';
import { ReconnectBudget } from '../../smpp/reconnect-budget.ts';
import { CampaignShare } from '../carrier/pacing/campaign-share.ts';
import { CarrierActor } from '../carrier/carrier-actor.ts';
import type { BindLeases } from '../lease/contract.ts';
import { singleNodeLeases } from '../lease/single-node-leases.ts';
import { openLeases } from '../lease/lease-keeper.ts';
import { type OpenInboundConsumer, openInboundConsumer } from '../inbound/inbound-consumer.ts';
import { HostedCarriers } from './hosted-carriers.ts';
import type { FromHost, HostTask, ToHost } from './host-messages.ts';

const statusEveryMs = 1_000;

/** Resolves after a drain; rejects when the host cannot start. */
export default async function host(task: HostTask): Promise<void> {
  const { port, simulated, natsUrl } = task;
  const send = (message: FromHost) => port.postMessage(message);
  const bus = await connectBus(natsUrl, task.name);
  // Outcomes must become durable while this process runs; the event writer bounds how many wait.
  const publisher = new Publisher(bus, {
    deadlineMs: Number.POSITIVE_INFINITY,
    inFlightMax: limits.bus.publishesInFlightMax,
  });
  const cipher = bodyCipher(task.bodyKeys);
  const reconnectBudget = new ReconnectBudget(limits.smpp.connectsPerSecond);
  const carriers = watchCarriers(bus);
  const registries = registryCache(task.registries);
  let configured = new Set(task.configured);
  // For late gates: accounts that were suspended and numbers that opted out while a message waited.
  const directory = await openDirectory(bus);
  let gates = lateGates(task.country, registries.current, directory);
  let numbers = addressForms(task.country);
  let prefixOf = operatorPrefixes(task.country);
  // Read before any carrier starts: a paused one must not send a single message.
  const commands = await watchCommands(bus);
  const clock = await clockOf(task, bus);
  const leases = await leasesOf(task, bus, clock);
  const campaignShare = new CampaignShare(clock);
  const hosted = new HostedCarriers(
    (carrier, moves) =>
      new CarrierActor({
        carrier,
        simulated,
        weightOf: (accountId) => directory.account(accountId as AccountId)?.weight ?? 1,
        accountQueueMax: task.accountQueueMax,
        flightDumps: task.flightDumps,
        campaignShare,
        bus,
        publisher,
        cipher,
        reconnectBudget,
        leases,
        clock,
        carriers,
        isConfigured: (name) => configured.has(name),
        moves,
        commands: commands.of(carrier.name),
        lateGates: (message, nowMs) => gates(message, nowMs),
        recipientOf: (address, ton) => numbers.recipient(address, ton),
        operatorPrefixOf: (to) => prefixOf(to),
        resendUnknown: ({ accountId, category }) =>
          directory.account(accountId)?.resendUnknown?.includes(category) === true,
      }),
  );

  commands.onChange((carrier) => hosted.command(carrier, commands.of(carrier)));
  const reports = answerForCarriers(bus, task.name, () => hosted.reports);

  // Messages from subscribers: any free thread of any node takes the next.
  let inboundConsumer: OpenInboundConsumer | null = null;
  // Dead letters that found DEAD full.
  let beside: Awaited<ReturnType<typeof takeFromFallback>> | null = null;

  const drained = new Promise<void>((resolve) => {
    port.on('message', (message: ToHost) => {
      if (message.type === 'ask') void answerMetrics(message.id, send);
      if (message.type === 'registry') registries.apply(message.registryUpdate);
      if (message.type === 'configure') {
        configured = new Set(message.configured);
        gates = lateGates(message.country, registries.current, directory);
        numbers = addressForms(message.country);
        prefixOf = operatorPrefixes(message.country);
        inboundConsumer?.configure(message.country, message.content);
        void hosted.configure(message.carriers, message.moves);
      }
      if (message.type === 'drain') void drain(message.deadlineMs).then(resolve);
    });
  });
  const drain = async (deadlineMs: number) => {
    // Closing the rest takes its time as well.
    const carriersMs = Math.max(deadlineMs / 2, deadlineMs - limits.supervision.drainSteps.closeMs);
    await Promise.all([hosted.drain(carriersMs), inboundConsumer?.stop(), beside?.stop()]);
    await leases.close();
    clock.stop();
    reports.unsubscribe();
    commands.stop();
    carriers.stop();
    await Promise.race([publisher.idle(), systemClock.sleep(500)]);
    publisher.close();
    await directory.close();
    await bus.connection.flush();
    await bus.close();
  };
  const status = () => send({ type: 'status', carriers: hosted.status });

  await hosted.start(task.carriers, task.moves);
  beside = await takeFromFallback(bus, publisher);
  const { country, content } = task;
  inboundConsumer = await openInboundConsumer({ bus, publisher, cipher, directory, country, content });
  send({ type: 'ready' });
  status();
  const stopStatus = systemClock.every(statusEveryMs, status);
  await Promise.race([drained, hosted.failed]);
  stopStatus();
  port.close();
}

/** The leases of binds, where there are other nodes. */
async function leasesOf({ name: thread, shared }: HostTask, bus: Bus, clock: ClusterClock): Promise<BindLeases> {
  if (shared === null) return singleNodeLeases;
  const { node, place, process, replicas } = shared;
  return openLeases(bus, { node, thread, place, process }, replicas, systemClock, () => clock.agrees);
}

/** The cluster's agreed time; this machine's own clock on a single node. */
async function clockOf({ shared }: HostTask, bus: Bus): Promise<ClusterClock> {
  if (shared === null) return ownClock();
  return clusterClock(bus, { node: shared.node, replicas: shared.replicas });
}
