// Keeps EVENTS short without ever taking a record from a reader: purged is only what every consumer has behind it,
// what is in ClickHouse, and what is older than what an actor replays after a restart: minutes when all of them are
// there, its whole reach while one is gone. A stream that fills up all the same raises an alarm before the ingress has
// to answer 503, and then it is short again: what is not recorded yet is never taken.
import { anyLaneAbandoned } from '../cluster/bus/abandoned-lanes.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { streamNames } from '../cluster/bus/streams.ts';
import { type Cancel, type Clock, systemClock } from '../platform/clock.ts';
import { messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { log } from '../platform/log.ts';
import { metrics } from '../platform/telemetry.ts';

export type Purge = { run(): Promise<void>; stop(): void };

/** Twice the replay window: an actor that starts while its replay is read still finds the whole of it. */
const keepMs = limits.carrier.replayWindowMs * 2;

/** What a reader of the stream has behind it. */
export type ReaderPosition = {
  readonly acks: boolean;
  readonly ackFloorSeq: number;
  readonly deliveredSeq: number;
  readonly outstanding: number;
};

export type Sample = { readonly atMs: number; readonly lastSeq: number };

export function startPurge(bus: Bus, recordedTo: () => number, clock: Clock = systemClock): Purge {
  /** Where the stream ended at past moments: one for each run within the longest reach, and one before. */
  let samples: Sample[] = [];

  async function run(): Promise<void> {
    const { state, config } = await bus.manager.streams.info(streamNames.events);
    const nowMs = clock.monotonicMs();
    samples = [...samples, { atMs: nowMs, lastSeq: state.last_seq }];
    samples = samples.filter((_, at) => (samples[at + 1]?.atMs ?? nowMs) > nowMs - limits.carrier.replayReachMs);
    metrics.eventsStreamBytes.set(state.bytes);
    const filling = config.max_bytes > 0 && state.bytes > config.max_bytes * limits.recorder.streamAlarmRatio;
    if (filling) {
      log.error({ alarm: 'events_filling', bytes: state.bytes, max: config.max_bytes }, 'EVENTS is filling up');
    }
    const keptMs = !filling && (await anyLaneAbandoned(bus, clock.nowMs())) ? limits.carrier.replayReachMs : keepMs;
    const upTo = purgeableTo(samples, nowMs - keptMs, recordedTo(), await positions(bus));
    if (upTo < state.first_seq || state.messages === 0) return;
    const { purged } = await bus.manager.streams.purge(streamNames.events, { seq: upTo + 1 });
    metrics.eventsPurged.inc(purged);
  }

  const cancel: Cancel = clock.every(limits.recorder.purgeEveryMs, () => {
    run().catch((error: unknown) => log.warn({ error: messageOf(error) }, 'EVENTS could not be purged this time'));
  });
  return { run, stop: cancel };
}

/** The last sequence nobody needs any more, of those from before `keptSinceMs`; 0 when there is none. */
export function purgeableTo(
  samples: readonly Sample[],
  keptSinceMs: number,
  recordedTo: number,
  readers: readonly ReaderPosition[],
): number {
  let upTo = 0;
  for (const sample of samples) if (sample.atMs <= keptSinceMs) upTo = Math.max(upTo, sample.lastSeq);
  upTo = Math.min(upTo, recordedTo);
  for (const reader of readers) {
    if (reader.outstanding === 0) continue; // it has read all there is for it
    upTo = Math.min(upTo, reader.acks ? reader.ackFloorSeq : reader.deliveredSeq);
  }
  return upTo;
}

async function positions(bus: Bus): Promise<readonly ReaderPosition[]> {
  const found: ReaderPosition[] = [];
  for await (const { config, ack_floor, delivered, num_pending, num_ack_pending } of bus.manager.consumers.list(
    streamNames.events,
  )) {
    found.push({
      acks: config.ack_policy !== 'none',
      ackFloorSeq: ack_floor.stream_seq,
      deliveredSeq: delivered.stream_seq,
      outstanding: num_pending + num_ack_pending,
    });
  }
  return found;
}
