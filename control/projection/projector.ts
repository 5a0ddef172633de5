// Decides when the directory is updated: at once when the database notifies, every poll interval otherwise, and in
// full at the start and every minute. One projector works at a time, by an advisory lock that ends with its
// connection; the lock only saves work, the compare-and-set of bucket-writer.ts keeps entries right. When another
// database owns the directory (owner.ts) it writes nothing.
import pg from 'pg';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { clientConfigOf } from '../store/connection.ts';
import { openStore, outboxChannel } from '../store/store.ts';
import { WakeableTimer } from '../../directory/wakeable-timer.ts';
import { BusCalls } from '../../directory/bus-calls.ts';
import { OwnedByAnother, claimDirectory } from './owner.ts';
import { projectOutbox, reconcile } from './projection.ts';

export type Projector = ReturnType<typeof startProjector>;

type ProjectorOptions = {
  readonly databaseUrl: string;
  readonly bus: Bus;
  readonly clock?: Clock;
  readonly reconcileEveryMs?: number;
};

/** An arbitrary number: only our own code takes advisory locks in our database. */
const projectorLock = 0x48_45_4c_49;

export function startProjector(options: ProjectorOptions) {
  const { databaseUrl, bus, clock = systemClock } = options;
  // Its own connections: requests that use all of theirs must not delay a revocation.
  const store = openStore(databaseUrl, systemClock, { poolMax: limits.store.projectorPoolMax });
  const reconcileEveryMs = options.reconcileEveryMs ?? limits.directory.reconcileEveryMs;
  const stopping = new AbortController();
  const alarm = new WakeableTimer(clock);
  const calls = new BusCalls(bus);
  let failure: string | null = 'not started';
  let reconcileAtMs = 0;
  let reconciling: Promise<void> | null = null;
  let askOwnerAtMs = 0;
  let refused: OwnedByAnother | null = null;
  // Entries written to a NATS that then lost its data, or to another one, must be written again.
  bus.onReconnect(() => {
    reconcileAtMs = 0;
    askOwnerAtMs = 0;
    alarm.notify();
  });

  /** In parallel to the outbox: comparing a large directory may take longer than a revocation may wait. */
  async function reconcileOnce(): Promise<void> {
    reconcileAtMs = clock.monotonicMs() + reconcileEveryMs;
    try {
      await reconcile(store, calls);
    } catch (error) {
      metrics.directoryFailures.inc();
      log.warn({ error: messageOf(error) }, 'the directory could not be compared with the database');
      reconcileAtMs = clock.monotonicMs() + limits.directory.reconcileRetryMs;
    } finally {
      reconciling = null;
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await session();
      } catch (error) {
        if (stopping.signal.aborted) return;
        const why = messageOf(error);
        refused = error instanceof OwnedByAnother ? error : null;
        if (why !== failure) {
          const facts = { error: why };
          if (refused !== null)
            log.error({ alarm: 'directory_of_another_installation', ...facts }, 'the directory is not updated');
          else log.warn(facts, 'the projection of the directory failed and is retried');
        }
        failure = why;
        metrics.directoryFailures.inc();
        // The failure may have lost entries (with a lost bucket, for example): compare everything again.
        reconcileAtMs = 0;
        askOwnerAtMs = 0;
        await alarm.wait(limits.directory.outboxPollMs);
      }
    }
  }

  /** Lasts as long as one database connection, which holds the lock and receives the notifications. */
  async function session(): Promise<void> {
    const client = new pg.Client(clientConfigOf(databaseUrl));
    let broken: Error | null = null;
    client.on('error', (error) => {
      broken = error;
      alarm.notify();
    });
    client.on('notification', () => alarm.notify());
    try {
      await client.connect();
      await client.query(`listen ${outboxChannel}`);
      const tenants = await calls.call('opening the directory', openBucket(bus, 'directory'));
      const suppressions = await calls.call('opening the suppressed numbers', openBucket(bus, 'suppression'));
      let holding = false;
      while (!stopping.signal.aborted) {
        if (broken !== null) throw broken;
        if (clock.monotonicMs() >= askOwnerAtMs) {
          await claimDirectory(store, calls, tenants);
          refused = null;
          askOwnerAtMs = clock.monotonicMs() + reconcileEveryMs;
        }
        holding ||= (await client.query('select pg_try_advisory_lock($1) as held', [projectorLock])).rows[0].held;
        if (holding) {
          await projectOutbox(store, calls, { tenants, suppressions }, stopping.signal);
          if (reconciling === null && clock.monotonicMs() >= reconcileAtMs) reconciling = reconcileOnce();
        }
        failure = null;
        await alarm.wait(limits.directory.outboxPollMs);
      }
    } finally {
      // Releases the lock too. The server may be gone.
      await withDeadline('closing a database connection', 1_000, client.end()).catch((error: unknown) =>
        ignoring(error, 'the database connection was already closed'),
      );
    }
  }

  const running = run();
  return {
    /** Null while it works, or waits for another projector; otherwise what stops it. */
    failure: () => failure,
    /** The directory belongs to another database: an operator must decide which is right. */
    refused: () => refused,
    async close() {
      stopping.abort(new Error('the projector is closed'));
      alarm.notify();
      await running;
      await reconciling;
      await store.close();
    },
  };
}
