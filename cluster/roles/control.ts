// The control role: migrates the database, projects tenants into the directory and serves the management API. Sending
// never waits for it. The projection starts first, because after a restart a revocation may be due within a second; the
// API's libraries load after its first pass.
import { mkdirSync, writeFileSync } from 'node:fs';
import { TestEvents } from '../../actors/webhook/listen/test-events.ts';
import { bodyPrinter, keyPlaces, placingSecret } from '../../acceptance/idempotency/key-place.ts';
import { IdempotentRequests } from '../../acceptance/idempotency/requests.ts';
import { idempotencyStore } from '../../acceptance/idempotency/store.ts';
import { RateLimits } from '../../acceptance/principal-limits.ts';
import { newRateMemory } from '../../platform/rate-table.ts';
import type { IdempotentWrite } from '../../api/management/idempotent-write.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { until, untilDone } from '../../platform/deadline.ts';
import { SetupError, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { type BodyCipher, bodyCipher } from '../../model/records/body-cipher.ts';
import { NumberHashes } from '../../model/number-hash.ts';
import type { BodyKeys } from '../../model/records/body-keys.ts';
import { claimBodyKeys } from '../bus/body-keys-in-use.ts';
import { type Bus, connectBus } from '../bus/connect.ts';
import { cancellations } from '../bus/cancellations.ts';
import { openBucket } from '../bus/ensure.ts';
import { EventWriter } from '../bus/event-writer.ts';
import { numberKey } from '../bus/installation-secret.ts';
import { sweepBlocks } from '../bus/otp-guard-bucket.ts';
import { Publisher } from '../bus/publisher.ts';
import { changedValues } from '../../config/changed-values.ts';
import { reloadVerdict } from '../../config/reload.ts';
import { realCarriers } from '../../config/configuration.ts';
import { loadConfiguration } from '../../config/load.ts';
import { loadSettings } from '../../config/settings.ts';
import { startDecisionWriter } from '../../control/projection/decision-writer.ts';
import { openDirectory } from '../../directory/directory.ts';
import { openLinks } from '../../directory/links.ts';
import { startEraser } from '../../control/erasure/eraser.ts';
import { startProjector } from '../../control/projection/projector.ts';
import { loadBodyKeys } from '../embedded/secrets.ts';
import { bringKeptNotes, noteForAudit, thisMachine } from '../../control/audit-notes.ts';
import { auditCommands } from '../../control/audit-commands.ts';
import { disableWebhooksOnRequest, recordKeysUsed } from '../../control/requests.ts';
import { isStoreUnavailable } from '../../control/store/connection.ts';
import { type DemoAccount, demoAccount, demoKeysFile, revokeLiveDemoKey } from '../../control/store/demo.ts';
import { readOutbox } from '../../control/store/outbox.ts';
import { databaseNameFile, installationId, type Store, openStore } from '../../control/store/store.ts';
import { type DatabaseUrls, prepareStore } from '../../control/store/migrate.ts';
import { resealWebhooks } from '../../control/store/reseal-webhooks.ts';
import { rightsTooWide } from '../../control/store/rights.ts';
import type { DemoToPrint } from '../supervisor/announce.ts';
import { type ChildLink, runRole } from '../supervisor/child-link.ts';
import { roleClock } from './role-start.ts';

/** How long the database may take to answer before this start fails. */
const databaseWaitMs = 20_000;
const databaseRetryMs = 250;
/** After a first start the demo's keys must work by the time they are printed. */
const demoWaitMs = 5_000;

runRole('control', async (link) => {
  const settings = loadSettings(link.env);
  const { natsUrl, databaseUrl, databaseOwnerUrl: ownerUrl } = settings;
  if (natsUrl === null) throw new SetupError('NATS_URL: the control role needs a NATS server');
  if (databaseUrl === null) throw new SetupError('DATABASE_URL: the control role needs a PostgreSQL database');

  let configuration = await loadConfiguration(settings.configFile, link.env);
  const bodyKeys = loadBodyKeys(settings.dataDir, link.env);
  const bus = await connectBus(natsUrl, 'control');
  const clock = await roleClock({ bus, settings, configuration }, link);
  const store = openStore(databaseUrl, clock);
  await prepareWhenUp(store, { databaseUrl, ownerUrl }, link);
  const tooWide = await rightsTooWide(store);
  if (tooWide !== null) log.warn(tooWide);
  const system = openStore(databaseUrl, clock, { poolMax: limits.store.systemPoolMax });
  mkdirSync(settings.dataDir, { recursive: true });
  writeFileSync(databaseNameFile(settings.dataDir), `${await installationId(store)}\n`);
  await claimBodyKeys(bus, bodyKeys, configuration.limits.streamReplicas);
  const cipher = bodyCipher(bodyKeys.keys);
  const resealed = await resealWebhooks(system, cipher);
  if (resealed > 0) log.info({ resealed }, 'the secrets of webhook endpoints were sealed with the new body key');
  const projector = startProjector({ databaseUrl, bus });
  const outboxIsEmpty = async () => {
    const refused = projector.refused();
    // The database is the wrong one: nothing else of this role may write to it.
    if (refused !== null) throw refused;
    return projector.failure() === null && (await readOutbox(store, 1)).length === 0;
  };
  await until('the directory is up to date', outboxIsEmpty, { limitMs: databaseWaitMs, everyMs: 10 });

  const { startManagementApi } = await import('../../api/management/server.ts');
  const directory = await openDirectory(bus, clock);
  const links = openLinks(bus, clock);
  const demoFile = demoKeysFile(settings.dataDir);
  const demo = await demoAccount(store, { file: demoFile, realCarriers: realCarriers(configuration.carriers) });
  if (demo !== null) {
    await until('the demo account is known', () => directory.authenticate(demo.testKey).ok, { limitMs: demoWaitMs });
  }
  const { keys, idempotentWrite } = await openKeys(bus, bodyKeys, cipher, clock);
  // Other roles create the stream, and may start later.
  void untilDone(
    () => bringKeptNotes(bus, settings.dataDir),
    (error) => log.warn({ error }, 'records for the audit log that were kept here cannot be brought yet'),
    { everyMs: databaseWaitMs, stopping: link.stopping },
  );
  const audit = auditCommands(bus, system);
  const stopKeysUsed = recordKeysUsed(bus, system);
  const stopDisabling = disableWebhooksOnRequest(bus, system);
  const numbers = new NumberHashes(await numberKey(bus));
  const decisions = startDecisionWriter({ bus, store: system, publisher: new Publisher(bus), numbers, clock });
  const stopSweep = clock.every(limits.otpGuard.sweepEveryMs, () => {
    sweepBlocks(bus, clock.nowMs()).catch((error: unknown) =>
      log.warn({ error: messageOf(error) }, 'blocks of the guard that are over could not be removed'),
    );
  });
  const events = new Publisher(bus);
  const eraser = startEraser({
    ...{ bus, store: system, clock, dataDir: settings.dataDir },
    ...{ numbers, cipher },
    events: new EventWriter(events),
    cancellations: cancellations(bus, events, clock),
  });
  const testEvents = new TestEvents(bus, cipher, clock);
  const api = await startManagementApi({
    ...{ store, directory, links, idempotentWrite, bus, carriers: () => configuration.carriers },
    shares: configuration.limits.shares,
    content: () => configuration.content,
    webhooks: () => configuration.webhooks,
    callingCode: () => configuration.country.callingCode,
    cipher,
    testEvents,
    keyDaysDefault: () => configuration.limits.apiKeyDaysDefault,
    port: settings.controlPort,
    secret: settings.controlSecret,
  });

  return {
    ready: { port: api.port, demo: demo === null ? null : demoToPrint(demo, demoFile) },
    health() {
      const failure = projector.failure() ?? audit.failure();
      // Still healthy: sending works without the database, so a load balancer must keep this machine.
      return { ok: true, detail: failure === null ? '' : `changes of tenants wait: ${failure}` };
    },
    async configure(next) {
      const verdict = reloadVerdict(configuration, next);
      const values = changedValues(configuration, next);
      configuration = next;
      // The new configuration may have a real carrier.
      void untilDone(
        () => revokeLiveDemoKey(store, { file: demoFile, realCarriers: realCarriers(next.carriers) }),
        (error) => log.warn({ error }, 'the live demo key cannot be revoked yet'),
        { everyMs: databaseRetryMs, stopping: link.stopping },
      );
      const detail = { changed: verdict.ok ? verdict.changed : verdict.needRestart, values };
      const note = { action: 'config.reloaded', target: settings.configFile, detail, by: thisMachine() } as const;
      // The configuration is in effect even if recording it fails: the operator must know.
      await noteForAudit(bus, note, clock).catch((error: unknown) =>
        log.error({ alarm: 'not_audited', ...note, error: messageOf(error) }, 'a reload is not in the audit log'),
      );
    },
    async drain(deadlineMs) {
      testEvents.stop();
      await api.close(deadlineMs / 2);
      stopKeysUsed();
      stopSweep();
      stopDisabling();
      await Promise.all([decisions.stop(), eraser.close()]);
      events.close();
      await Promise.all([projector.close(), audit.close()]);
      await Promise.all([directory.close(), links.close()]);
      clock.stop();
      await Promise.all([store.close(), system.close()]);
      keys.close();
      await bus.close();
    },
  };
});

/** Keys that were shown before are not shown again. */
function demoToPrint({ accountId, liveKey, testKey, isNew, liveKeyRevoked }: DemoAccount, file: string): DemoToPrint {
  return {
    accountId,
    file,
    keys: isNew ? { live: liveKey, test: testKey } : null,
    hasLive: liveKey !== null,
    liveKeyRevoked,
  };
}

/** The store of idempotency keys, as in the ingress. */
async function openKeys(
  bus: Bus,
  bodyKeys: BodyKeys,
  cipher: BodyCipher,
  clock: Clock,
): Promise<{ keys: Publisher; idempotentWrite: IdempotentWrite }> {
  const { createIdempotentWrite } = await import('../../api/management/idempotent-write.ts');
  const keys = new Publisher(bus, limits.http.idempotencyWrites);
  await openBucket(bus, 'idempotency');
  const idempotentWrite = createIdempotentWrite({
    requests: new IdempotentRequests(idempotencyStore(bus, keys, clock), clock),
    cipher,
    keyPlaces: keyPlaces(await placingSecret(bus)),
    bodyPrints: bodyPrinter(bodyKeys.keys),
    rates: new RateLimits(newRateMemory()),
  });
  return { keys, idempotentWrite };
}

async function prepareWhenUp(store: Store, urls: DatabaseUrls, { stopping }: ChildLink): Promise<void> {
  const endAtMs = systemClock.monotonicMs() + databaseWaitMs;
  for (;;) {
    try {
      await prepareStore(store, urls);
      return;
    } catch (error) {
      if (!isStoreUnavailable(error) || systemClock.monotonicMs() > endAtMs) throw error;
      log.warn({ error: messageOf(error) }, 'waiting for the database');
      await systemClock.sleep(databaseRetryMs, stopping);
    }
  }
}
