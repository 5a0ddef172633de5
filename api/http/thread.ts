// One listening thread of the ingress, from start to drain: connects its parts and opens its HTTP server. Each thread
// has its own NATS connection, directory and server; threads share only the port. A thread must never end while it
// listens: uWebSockets.js would end the whole process.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { LinkIssuer } from '../../acceptance/link-issuer.ts';
import { Capacity } from '../../acceptance/capacity.ts';
import { GuardDecisions } from '../../acceptance/otp-guard/guard-decisions.ts';
import { SharedGuard } from '../../acceptance/otp-guard/shared-guard.ts';
import { RefusalAudit } from '../../acceptance/refusal-audit.ts';
import { watchOverflow } from '../../cluster/bus/overflow-heartbeat.ts';
import { clusterClock, ownClock } from '../../cluster/bus/cluster-clock.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { cancellations } from '../../cluster/bus/cancellations.ts';
import { connectBus } from '../../cluster/bus/connect.ts';
import { watchCarriers } from '../../cluster/bus/carrier-heartbeat.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { watchStreamSpace } from '../../cluster/bus/stream-space.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import { otpTimes } from '../../cluster/bus/otp-times.ts';
import { KeysUsed } from './keys-used.ts';
import { ScheduledShares } from '../../cluster/bus/scheduled-shares.ts';
import { openDirectory } from '../../directory/directory.ts';
import { addressHasher, linkSecret } from '../../directory/link-secret.ts';
import { openLinks } from '../../directory/links.ts';
import { linkCodes } from '../../model/link-code.ts';
import type { RegistryVersionEvent } from '../../directory/registry/contract.ts';
import { registryCache } from '../../directory/registry/registry-cache.ts';
import { assert } from '../../platform/assert.ts';
import { systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { SetupError, ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { answerMetrics } from '../../platform/message-link.ts';
import { metrics } from '../../platform/telemetry.ts';
import { admission } from '../../policy/admission/gates.ts';
import { explanation } from '../../policy/admission/explain.ts';
import type { OtpGuardRules } from '../../policy/otp-guard/contract.ts';
import type { AccessParts } from './access.ts';
import { BulkPace } from './bulk-pace.ts';
import { cancelSms } from './cancel-sms.ts';
import { clientAddress } from './client-address.ts';
import { portedTo } from '../../policy/registry/ported-to.ts';
import { openHttpServer } from './http-server.ts';
import { DryRuns } from './explain-sms.ts';
import { forwarder } from './forward.ts';
import { type HttpServer, answerThrown } from './exchange.ts';
import { answerReady, readiness } from './health.ts';
import { bodyPrinter, keyPlaces, placingSecret } from '../../acceptance/idempotency/key-place.ts';
import { IdempotentRequests } from '../../acceptance/idempotency/requests.ts';
import { idempotencyStore } from '../../acceptance/idempotency/store.ts';
import { OtpStore } from '../../acceptance/otp/store.ts';
import { CancelOtp, ResendOtp } from './otp/change-otp.ts';
import { OtpRates } from './otp/otp-rates.ts';
import { getOtp } from './otp/read-otp.ts';
import { StartOtp } from './otp/start-otp.ts';
import { VerifyOtp } from './otp/verify-otp.ts';
import { placesOf } from './places.ts';
import { ClickBounds } from '../links/click-bounds.ts';
import { ClickWriter } from '../links/click-writer.ts';
import { Misses, redirect } from '../links/redirect.ts';
import { getSms, listSms } from './read-sms.ts';
import { RateLimits } from '../../acceptance/principal-limits.ts';
import { SendBatch } from './send-batch.ts';
import { SendSms, type SendSmsParts } from './send-sms.ts';
import { SliceTurns } from './slice-turns.ts';
import { statusQueryClient } from './status-query-client.ts';
import type { FromThread, RequestRules, ThreadData, ToThread } from './thread-messages.ts';

async function startThread(data: ThreadData) {
  const bus = await connectBus(data.natsUrl, `ingress-${data.index}`);
  // A separate connection: the server loads up to 8 MB of its store for a page, and messages must not wait behind that.
  const pages = await connectBus(data.natsUrl, `ingress-${data.index}-keys`);
  const clock = data.node === null ? ownClock() : await clusterClock(bus, { node: data.node });
  const directory = await openDirectory(bus, clock);
  const links = openLinks(bus, clock);
  const linkKey = await linkSecret(bus);
  const codes = linkCodes(linkKey);
  const eventSpace = await watchStreamSpace(bus, streamNames.events, limits.http.eventsFullShare, clock, (share) =>
    metrics.eventsFillShare.set(share),
  );
  const clickSpace = await watchStreamSpace(bus, streamNames.clicks, limits.clicks.streamFullShare, clock);
  await openBucket(bus, 'idempotency');
  await openBucket(bus, 'otp');
  await openBucket(bus, 'otp_failures');

  const publisher = new Publisher(bus, { gatherMs: limits.http.publishGatherMs });
  // No deadline: the events of accepted messages must not be lost while this process runs.
  const eventPublisher = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const events = new EventWriter(eventPublisher);
  const clickPublisher = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const keyPublisher = new Publisher(bus, limits.http.idempotencyWrites);
  const otpPublisher = new Publisher(bus, limits.otp.writes);

  const httpServer: HttpServer = { open: new Set(), draining: false };
  const health = { httpServer, directory, eventSpace, clock, bus };
  const places = placesOf(data.shares);
  const queries = statusQueryClient(bus, places, clock);
  const keys = idempotencyStore(bus, keyPublisher, clock, pages);
  await withDeadline('the pages of idempotency keys', limits.idempotency.readAheadMs, keys.readAhead(), clock).catch(
    (error: unknown) => ignoring(error, 'reading ahead failed: pages are read when a key needs them'),
  );
  const idempotent = new IdempotentRequests(keys, clock);
  const carriers = watchCarriers(bus, clock);
  const queues = watchOverflow(bus, clock);
  const registries = registryCache(data.registries);
  const circumstances = { nowMs: () => clock.nowMs(), registries: registries.current };
  const decisions = new GuardDecisions(publisher, clock);
  const guard = await SharedGuard.open({ bus, clock, rules: guardRulesOf(data.rules), decisions });
  const { conversions } = guard;
  const routing = { health: carriers, portedTo: (to: string) => portedTo(registries.current(), to), conversions };
  const engine = ({ routing: rules, otp }: RequestRules) => ({
    admit: admission(rules, circumstances, routing),
    explain: explanation(rules, circumstances, routing),
    drawsRoutes: rules.routes.some(({ choose }) => choose === 'conversion'),
    otp,
  });
  let { rules } = data;
  let policy = engine(rules);
  const used = new KeysUsed(bus, clock);
  const pace = new BulkPace(clock);
  const stopOtpTimes = otpTimes.watch(bus, (times) => pace.received(times));
  const access: AccessParts = {
    directory,
    addressOf: clientAddress(data.proxies),
    rates: new RateLimits(data.rateMemory, clock),
    places,
    used,
  };
  const secret = await placingSecret(bus);
  const sending = {
    publisher,
    queues,
    scheduled: new ScheduledShares(bus, keyPublisher, data.shares.scheduled_messages, clock),
    events,
    cipher: bodyCipher(data.bodyKeys),
    capacity: new Capacity({ clock, eventSpace, events, publisher, slots: places.publishes }),
    access,
    audit: new RefusalAudit(events, clock),
    dryRuns: new DryRuns(clock),
    admit: (principal, request) => policy.admit(principal, request),
    explain: (principal, request, messageId) => policy.explain(principal, request, messageId),
    idempotent,
    keyPlaces: keyPlaces(secret),
    bodyPrints: bodyPrinter(data.bodyKeys),
    queries,
    answerThrown,
    turns: new SliceTurns(clock, pace),
    pace,
    links: {
      issuer: new LinkIssuer({
        directory: links,
        publisher,
        share: data.shares.live_links,
        linkDays: data.links.linkDays,
        clock,
      }),
      codes,
      rules: () => rules.routing.links,
    },
    clock,
  } satisfies SendSmsParts;
  const addresses = { hashOf: addressHasher(linkKey), stores: data.links.storeAddresses };
  const { clicks_kept: share } = data.shares;
  const clickBounds = new ClickBounds({ space: clickSpace, share, rateMemory: data.rateMemory, clock });
  const clicks = new ClickWriter(clickPublisher, clickBounds, places.clicks, addresses, clock);
  const redirecting = {
    ...{ directory, links, codes, clicks, addressOf: access.addressOf, clock },
    fallbackUrl: data.links.fallbackUrl,
    misses: new Misses(clock),
  };
  const canceling = { ...sending, cancellations: cancellations(bus, keyPublisher, clock) };
  const otp = {
    ...sending,
    otps: new OtpStore(bus, otpPublisher, secret, clock),
    otpRules: () => policy.otp,
    otpLimits: () => policy.otp.limits,
    hedging: () => policy.otp.hedging,
    rates: new OtpRates(data.otpRateMemory, data.shares, clock),
    guard,
    drawsRoutes: () => policy.drawsRoutes,
  };
  const listening = await openHttpServer(
    httpServer,
    {
      sendSms: (exchange, req) => new SendSms(sending, exchange, req).proceed(),
      sendBatch: (exchange, req) => new SendBatch(sending, exchange, req).proceed(),
      cancelSms: (exchange, req) => cancelSms(canceling, exchange, req),
      getSms: (exchange, req) => getSms(sending, exchange, req),
      listSms: (exchange, req) => listSms(sending, exchange, req),
      startOtp: (exchange, req) => new StartOtp(otp, exchange, req).proceed(),
      verifyOtp: (exchange, req) => new VerifyOtp(otp, exchange, req).proceed(),
      resendOtp: (exchange, req) => new ResendOtp(otp, exchange, req).proceed(),
      cancelOtp: (exchange, req) => new CancelOtp(otp, exchange, req).proceed(),
      getOtp: (exchange, req) => getOtp(otp, exchange, req),
      redirect: (exchange, req) => redirect(redirecting, exchange, req),
      live: (exchange) => exchange.json(200, '{"status":"ok"}'),
      ready: (exchange) => answerReady(exchange, readiness(health)),
      forwarder: forwarder(data, access, answerThrown, sending.turns, clock),
    },
    data,
    answerThrown,
    clock,
  );

  return {
    port: listening.port,
    health: () => readiness(health),
    registry: (registryUpdate: RegistryVersionEvent) => registries.apply(registryUpdate),
    configure(next: RequestRules) {
      rules = next;
      policy = engine(rules);
      guard.configure(guardRulesOf(next));
    },
    async drain(limitMs: number) {
      const endAtMs = clock.monotonicMs() + limitMs;
      const leftMs = () => Math.max(1, endAtMs - clock.monotonicMs());
      await listening.stopTaking(leftMs());
      decisions.stop();
      const idle = Promise.all([publisher.idle(), keyPublisher.idle(), otpPublisher.idle()]).then(() => {
        events.flush();
        clicks.flush();
        return Promise.all([eventPublisher.idle(), clickPublisher.idle()]);
      });
      await withDeadline('the last publishes of a thread', leftMs(), idle, clock).catch((error: unknown) =>
        ignoring(error, 'some events were not written; readers derive them from the intents of the carrier actors'),
      );
      listening.close();
      events.close();
      clicks.close();
      for (const each of [publisher, keyPublisher, otpPublisher, eventPublisher, clickPublisher]) each.close();
      used.stop();
      eventSpace.stop();
      clickSpace.stop();
      carriers.stop();
      queues.stop();
      stopOtpTimes();
      await guard.stop();
      clock.stop();
      await Promise.all([directory.close(), links.close()]);
      await pages.close();
      await bus.close();
    },
  };
}

/** Without a list the guard sends codes to the country of the installation. */
function guardRulesOf({ routing, otp: { guard: rules } }: RequestRules): OtpGuardRules {
  return rules.destinations.length > 0 ? rules : { ...rules, destinations: [routing.country.callingCode] };
}

async function runThread(port: MessagePort, data: ThreadData): Promise<void> {
  const send = (message: FromThread) => port.postMessage(message);
  let running: Awaited<ReturnType<typeof startThread>>;
  try {
    running = await startThread(data);
  } catch (error) {
    log.fatal({ thread: data.index, error: messageOf(error) }, 'an ingress thread cannot start');
    return send({ type: 'failed', why: messageOf(error), needsPerson: error instanceof SetupError });
  }

  // Sent at a fixed interval even if unchanged: threads.ts counts it as a report.
  const stopHealth = systemClock.every(limits.supervision.healthEveryMs, () => {
    send({ type: 'health', ...running.health() });
  });

  port.on('message', (message: ToThread) => {
    switch (message.type) {
      case 'ask':
        return void answerMetrics(message.id, send);
      case 'rules':
        return running.configure(message.rules);
      case 'registry':
        return running.registry(message.registryUpdate);
      case 'drain':
        stopHealth();
        void running.drain(message.deadlineMs).then(() => {
          send({ type: 'drained' });
          port.close(); // now nothing keeps the thread alive
        });
    }
  });
  send({ type: 'ready', port: running.port });
}

assert(parentPort !== null, 'this file is the body of a worker thread');
void runThread(parentPort, workerData as ThreadData);
