// Pulls records from a durable consumer, for ever: through reconnects, server restarts and a deleted consumer. It
// passes records to their handler, which acks.
import type { Consumer, ConsumerConfig, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { LogThrottle } from '../../platform/log-throttle.ts';
import { perObject } from '../../platform/per-object.ts';
import type { Bus } from './connect.ts';
import { consumerNotFound, isApiError } from './api-errors.ts';
import { ensureConsumer } from './ensure.ts';
import { followStatus, lowLatencyPull, watchPulls } from './lost-pull.ts';

type ConsumeOptions = {
  readonly stream: string;
  readonly consumer: Partial<ConsumerConfig> & { durable_name?: string };
  /**
   * Records per pull: enough to keep the handler busy for a round trip. The consumer's max_ack_pending bounds the
   * records without an ack, because each is handled as it arrives.
   */
  readonly prefetch: number;
  readonly handle: (record: JsMsg) => void;
  /** For records that are not urgent: a lost pull is noticed after four seconds, with a quarter of the idle traffic. */
  readonly lowPriority?: boolean;
  /** Takes a record whose handler failed repeatedly (moveToDead); without it, it is redelivered for ever. */
  readonly onPoison?: (record: JsMsg, reason: string) => void;
  readonly clock?: Clock;
};

export type Consumption = {
  /** When the server last sent anything, heartbeats included; monotonic. */
  lastReceivedAtMs(): number;
  /** Stops pulling; the handler still settles records it was given. */
  stop(): Promise<void>;
};

const retryAfterMs = 500;
const failuresRemembered = 4_096;
const lowPriorityPull = { expires: 20_000, idle_heartbeat: 2_000 };
/**
 * A consumer silent for so many heartbeats is reopened. The client recovers too, but when the consumer briefly has no
 * leader (a server of a cluster died) it waits as long as a pull lasts before it checks again.
 */
const missedHeartbeatsMax = 5;
const leaderLookMs = 50;
const leaderWithinMs = 5_000;

/** Why a consumption ended: it was stopped or its consumer is gone; or only its pull was lost, and it reopens at once. */
type End = 'closed' | 'pull lost';
type Opened = { readonly messages: ConsumerMessages; readonly ended: Promise<End> };

/** Resolves when the consumer exists and the first pull was sent. */
export async function consumeStream(bus: Bus, options: ConsumeOptions): Promise<Consumption> {
  const { stream, prefetch, clock = systemClock } = options;
  const name = options.consumer.durable_name ?? '';
  const pace = options.lowPriority === true ? lowPriorityPull : lowLatencyPull;
  const failures = new Map<number, number>();
  let stopped = false;
  let lastReceivedAtMs = clock.monotonicMs();
  let opened: Opened | null = await open();
  const running = keepGoing();

  async function keepGoing(): Promise<void> {
    let again = false;
    while (!stopped) {
      let end: End = 'closed';
      try {
        opened ??= await open(again);
        again = true;
        // stop() was called during the open and found nothing to stop.
        if (stopped) opened.messages.stop();
        end = await opened.ended;
        opened.messages.stop();
      } catch (error) {
        warn(bus, { stream, consumer: name, error: messageOf(error) }, 'consumer lost, reopening it');
      }
      opened = null;
      if (!stopped && end === 'closed') await clock.sleep(retryAfterMs);
    }
  }

  /** `again`: the consumer existed before and needs no update. */
  async function open(again = false): Promise<Opened> {
    if (!again) await ensureConsumer(bus.manager, stream, options.consumer);
    const consumer = await bus.jetstream.consumers.get(stream, name).catch(async (error: unknown) => {
      if (!isApiError(error, consumerNotFound)) throw error;
      await ensureConsumer(bus.manager, stream, options.consumer);
      return bus.jetstream.consumers.get(stream, name);
    });
    await hasLeader(consumer, clock);
    lastReceivedAtMs = clock.monotonicMs();
    const messages = await consumer.consume({
      max_messages: prefetch,
      ...pace,
      callback(record) {
        lastReceivedAtMs = clock.monotonicMs();
        handOver(options, failures, record);
      },
    });
    const lost = Promise.withResolvers<End>();
    watchPulls(bus, consumer, messages, pace.expires, clock, () => lost.resolve('pull lost'));
    const stopListening = endWhenSilent(messages);
    const statuses = followStatus(messages, (type) => {
      if (type === 'heartbeat' || type === 'discard') lastReceivedAtMs = clock.monotonicMs();
      // This consumption ends and another is opened.
      if (goneStatuses.has(type)) messages.stop();
      return goneStatuses.has(type);
    });
    void statuses.finally(stopListening);
    return { messages, ended: Promise.race([messages.closed().then((): End => 'closed'), lost.promise]) };
  }

  /** Ends a consumption that receives nothing although the connection works. */
  function endWhenSilent(messages: ConsumerMessages): Cancel {
    const heartbeatMs = pace.idle_heartbeat;
    let lookedAtMs = clock.monotonicMs();
    return clock.every(heartbeatMs, () => {
      const nowMs = clock.monotonicMs();
      // A blocked event loop has not read what arrived meanwhile; it does in this turn.
      const stalled = nowMs - lookedAtMs > 4 * heartbeatMs;
      lookedAtMs = nowMs;
      if (stalled || !bus.connected()) lastReceivedAtMs = nowMs;
      else if (nowMs - lastReceivedAtMs > missedHeartbeatsMax * heartbeatMs) {
        warn(bus, { stream, consumer: name }, 'a consumer is silent, reopening it');
        messages.stop();
      }
    });
  }

  return {
    lastReceivedAtMs: () => lastReceivedAtMs,
    async stop() {
      stopped = true;
      opened?.messages.stop();
      await Promise.race([running, clock.sleep(2_000)]);
    },
  };
}

/** A nats-server that stands still silences all consumers of a connection: one line names the first, and counts the others. */
function warn(bus: Bus, facts: { stream: string; consumer: string; error?: string }, what: string): void {
  const suppressed = logsOf(bus).allow();
  if (suppressed !== null) log.warn({ ...facts, suppressed }, what);
}

const logsOf = perObject<Bus, LogThrottle>(() => new LogThrottle(limits.bus.consumerLogEveryMs, systemClock));

/** A new consumer of a cluster, or one whose server died, has no leader: a pull would be lost silently. */
async function hasLeader(consumer: Consumer, clock: Clock): Promise<void> {
  const endAtMs = clock.monotonicMs() + leaderWithinMs;
  for (let cached = true; clock.monotonicMs() < endAtMs; cached = false) {
    const { cluster } = await consumer.info(cached);
    if (cluster === undefined || (cluster.leader ?? '') !== '') return;
    await clock.sleep(leaderLookMs);
  }
}

/**
 * Catches what a handler throws, a bug: thrown into the client it would stop all other records. Only such failures make
 * a record poison; deliveries do not, since each restart of a healthy system adds one.
 */
function handOver(options: ConsumeOptions, failures: Map<number, number>, record: JsMsg): void {
  const { stream, onPoison } = options;
  try {
    options.handle(record);
    // The client parses a record's sequence only when it is asked for it.
    if (failures.size > 0) failures.delete(record.seq);
  } catch (error) {
    const failed = (failures.get(record.seq) ?? 0) + 1;
    const reason = messageOf(error);
    log.error({ alarm: 'handler_failed', stream, seq: record.seq, failed, error: reason }, 'a record was not handled');
    if (failed >= limits.bus.handlerFailuresMax && onPoison !== undefined) {
      failures.delete(record.seq);
      return onPoison(record, reason);
    }
    // Bounded by the records that can be delivered at once; a dropped entry only counts from 0 again.
    if (failures.size >= failuresRemembered) failures.delete(failures.keys().next().value as number);
    failures.set(record.seq, failed);
    record.nak(limits.bus.nakDelayMsMax);
  }
}

/** Statuses with which the client reports that a consumer is gone. */
const goneStatuses: ReadonlySet<string> = new Set(['consumer_deleted', 'stream_not_found', 'consumer_not_found']);
