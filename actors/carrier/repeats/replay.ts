// After a start the actor reads its carrier's events of the replay window, before it takes any work: which
// records already have an outcome, which were in the middle of a submit, and which submits still wait for a
// receipt. The window is longer than any record can wait for its redelivery (limits.ts asserts it).
import { DeliverPolicy } from '@nats-io/jetstream';
import { isAbandoned } from '../../../cluster/bus/abandoned-lanes.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { decodeEvents } from '../../../cluster/bus/event-record.ts';
import { consumerInfo } from '../../../cluster/bus/ensure.ts';
import { formerConsumerName, messageConsumerName, streamNames } from '../../../cluster/bus/streams.ts';
import { eventFilter } from '../../../cluster/bus/subjects.ts';
import { waitingAside } from '../../../cluster/bus/waiting-aside.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { laneOf } from '../../../model/message.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';

const replayDeadlineMs = 60_000;

/** Calls `learn` for every event of the window in stream order; resolves with how many there were. */
export async function replayEvents(
  bus: Bus,
  carrier: string,
  learn: (event: DeliveryEvent) => void,
  clock: Clock = systemClock,
): Promise<number> {
  const reachMs = await reachOf(bus, carrier, clock.nowMs());
  const since = new Date(clock.nowMs() - reachMs).toISOString();
  const consumer = await bus.jetstream.consumers.get(streamNames.events, {
    filter_subjects: eventFilter(carrier),
    deliver_policy: DeliverPolicy.StartTime,
    opt_start_time: since,
  });
  const { num_pending: total } = await consumer.info();
  if (total === 0) return 0;
  const messages = await consumer.consume({ max_messages: 500 });
  let events = 0;
  const reading = (async () => {
    for await (const record of messages) {
      try {
        for (const event of decodeEvents(record.data)) {
          learn(event);
          events += 1;
        }
      } catch (error) {
        // The recorder moves it to DEAD; a replay must not stop at it.
        ignoring(error, 'a poison batch of events was skipped by the replay');
      }
      if (record.info.pending === 0) break;
    }
  })();
  try {
    await withDeadline(`replay of ${carrier}`, replayDeadlineMs, reading, clock);
  } finally {
    await messages.close();
  }
  log.info({ carrier, events }, 'replayed');
  return events;
}

/**
 * How far back to read. Records that an earlier life held and never settled come back however long nobody was
 * here: when their consumer was last served longer ago than the window, the window would miss their intents.
 */
export async function reachOf(bus: Bus, carrier: string, nowMs: number): Promise<number> {
  const { replayWindowMs, replayReachMs } = limits.carrier;
  const looks = Object.values(laneOf).map(async (lane) => {
    const aside = await waitingAside(bus, lane, carrier);
    const shards = [...Array.from({ length: limits.bus.accountShards }, (_, shard) => shard), ...aside.keys()];
    const names = shards.map((shard) => messageConsumerName(lane, carrier, shard));
    const infos = [formerConsumerName(lane, carrier), ...names].map((name) =>
      consumerInfo(bus.manager, streamNames.messages[lane], name),
    );
    // Without a consumer nothing can come back through it.
    return (await Promise.all(infos)).some((info) => info !== null && isAbandoned(info, nowMs));
  });
  return (await Promise.all(looks)).includes(true) ? replayReachMs : replayWindowMs;
}
