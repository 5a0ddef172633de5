// Takes records from a durable consumer, for ever: through reconnects, restarts of the server and a consumer
// that somebody deleted. It only carries records to their handler; acks are the handler's business.
import type { ConsumerConfig, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { Bus } from './connect.ts';
import { ensureConsumer } from './ensure.ts';

export type ConsumeOptions = {
  readonly stream: string;
  readonly consumer: Partial<ConsumerConfig> & { durable_name?: string };
  /**
   * Records asked for at once: enough to keep the handler busy over a round trip. How many may be held without an
   * ack is bounded by the consumer's max_ack_pending, because each is handed over as it comes.
   */
  readonly prefetch: number;
  readonly handle: (record: JsMsg) => void;
  /** Nothing urgent comes here: a lost pull is noticed after four seconds, for a quarter of the idle chatter. */
  readonly unhurried?: boolean;
  /** Takes a record whose handler failed again and again (moveToDead); without it the record is offered for ever. */
  readonly onPoison?: (record: JsMsg, reason: string) => void;
  readonly clock?: Clock;
};

export type Consumption = {
  /** Stops taking; records already handed over are the handler's to settle. */
  stop(): Promise<void>;
};

const retryAfterMs = 500;
const failuresRemembered = 4_096;
/** A lost pull is noticed after two missed heartbeats: a second, instead of the client's default thirty. */
const pull = { expires: 5_000, idle_heartbeat: 500 };
const unhurriedPull = { expires: 20_000, idle_heartbeat: 2_000 };

/** Resolves when the consumer exists and the first pull is out. */
export async function consumeStream(bus: Bus, options: ConsumeOptions): Promise<Consumption> {
  const clock = options.clock ?? systemClock;
  let stopped = false;
  const failures = new Map<number, number>();
  let messages: ConsumerMessages | null = await open(bus, options, failures);
  const running = keepGoing();

  async function keepGoing(): Promise<void> {
    while (!stopped) {
      try {
        messages ??= await open(bus, options, failures);
        // Stopped while it was opened: stop() had nothing to stop yet.
        if (stopped) messages.stop();
        await messages.closed();
      } catch (error) {
        log.warn({ stream: options.stream, error: messageOf(error) }, 'consumer lost, opening it again');
      }
      messages = null;
      if (!stopped) await clock.sleep(retryAfterMs);
    }
  }

  return {
    async stop() {
      stopped = true;
      messages?.stop();
      await Promise.race([running, clock.sleep(2_000)]);
    },
  };
}

async function open(bus: Bus, options: ConsumeOptions, failures: Map<number, number>): Promise<ConsumerMessages> {
  const name = options.consumer.durable_name ?? '';
  await ensureConsumer(bus.manager, options.stream, options.consumer);
  const consumer = await bus.jetstream.consumers.get(options.stream, name);
  const messages = await consumer.consume({
    max_messages: options.prefetch,
    ...(options.unhurried === true ? unhurriedPull : pull),
    callback: (record) => handOver(options, failures, record),
  });
  void watch(messages);
  return messages;
}

/**
 * A handler that throws has a bug; thrown into the client, it would stop every other record too. Its own failures are
 * what makes a record poison; deliveries alone prove nothing, since every restart of a healthy system adds one.
 */
function handOver(options: ConsumeOptions, failures: Map<number, number>, record: JsMsg): void {
  const { stream, onPoison } = options;
  try {
    options.handle(record);
    failures.delete(record.seq);
  } catch (error) {
    const failed = (failures.get(record.seq) ?? 0) + 1;
    const reason = messageOf(error);
    log.error({ alarm: 'handler_failed', stream, seq: record.seq, failed, error: reason }, 'a record was not handled');
    if (failed >= limits.bus.handlerFailuresMax && onPoison !== undefined) {
      failures.delete(record.seq);
      return onPoison(record, reason);
    }
    // Bounded by the records that can be out at once; an entry that is pushed out only begins to count anew.
    if (failures.size >= failuresRemembered) failures.delete(failures.keys().next().value as number);
    failures.set(record.seq, failed);
    record.nak(limits.bus.nakDelayMsMax);
  }
}

/** The client reports a consumer that is gone as a status; then this consumption ends and a new one is opened. */
async function watch(messages: ConsumerMessages): Promise<void> {
  try {
    for await (const status of messages.status()) {
      if (
        status.type === 'consumer_deleted' ||
        status.type === 'stream_not_found' ||
        status.type === 'consumer_not_found'
      ) {
        messages.stop();
        return;
      }
    }
  } catch (error) {
    ignoring(error, 'the status stream of a stopped consumer ended');
  }
}
