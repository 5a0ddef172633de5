// Purges EVENTS without removing a record that a reader needs: only records that are in ClickHouse, behind every
// reader, older than two replay windows, behind the replay floor of every carrier, however long it was down, and taken by
// webhook endpoints, or in their lines. A stream that fills up nevertheless raises an alarm that names the blocking carrier, before the
// ingress must answer 503.
import { waitsFor } from '../cluster/bus/waiting-messages.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { type FloorRecord, ReplayFloors, type StreamEnds, replayStart } from '../cluster/bus/replay-floors.ts';
import { changeSince, type StreamPosition } from '../cluster/bus/stream-position.ts';
import { openBucket } from '../cluster/bus/ensure.ts';
import { streamNames } from '../cluster/bus/streams.ts';
import { neededAfter, readWebhookPlace } from '../cluster/bus/webhook-place.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { log } from '../platform/log.ts';
import { metrics } from '../platform/telemetry.ts';

type Purge = { run(): Promise<void>; stop(): void };

/** Twice the replay window: an actor that starts while its replay is read still finds all of it. */
const keepMs = limits.carrier.replayWindowMs * 2;

/** The position of a reader of the stream. */
type ReaderPosition = {
  readonly name: string;
  /** Durable consumers belong to other programs: this system's readers keep their positions themselves. */
  readonly durable: boolean;
  readonly acks: boolean;
  readonly ackFloorSeq: number;
  readonly deliveredSeq: number;
  readonly outstanding: number;
};

type Sample = { readonly atMs: number; readonly lastSeq: number };

/** `recorded`: the last record in ClickHouse; a recreated EVENTS is not purged by it. */
export function startPurge(bus: Bus, recorded: () => StreamPosition, clock: Clock = systemClock): Purge {
  const floors = new ReplayFloors(bus);
  /** Past ends of the stream: one for each run within the kept time, and one before. */
  let samples: Sample[] = [];
  let samplesOf = '';

  async function run(): Promise<void> {
    const { created, state, config } = await bus.manager.streams.info(streamNames.events);
    const nowMs = clock.monotonicMs();
    const place = recorded();
    const recordedTo = (await changeSince(bus, streamNames.events, place, clock)) === null ? place.seq : 0;
    if (samplesOf !== String(created) || (samples.at(-1)?.lastSeq ?? 0) > state.last_seq) samples = [];
    samplesOf = String(created);
    samples = [...samples, { atMs: nowMs, lastSeq: state.last_seq }];
    samples = samples.filter((_, at) => (samples[at + 1]?.atMs ?? nowMs) > nowMs - keepMs);
    metrics.eventsStreamBytes.set(state.bytes);
    const fullness = config.max_bytes > 0 ? state.bytes / config.max_bytes : 0;
    const readers = readersThatCount(await readersOf(bus, streamNames.events), fullness);
    const recordedAndRead = purgeableTo(samples, nowMs - keepMs, recordedTo, readers);
    const upTo = await takenByWebhooksTo(bus, String(created), recordedAndRead, fullness);
    const kept = await keptByCarriers(upTo, await floors.all(), {
      stream: String(created),
      firstSeq: state.first_seq,
      lastSeq: state.last_seq,
    });
    if (fullness > limits.recorder.streamAlarmRatio) logFilling(state.bytes, config.max_bytes, kept, recordedTo);
    if (kept.upTo < state.first_seq || state.messages === 0) return;
    const { purged } = await bus.manager.streams.purge(streamNames.events, {
      seq: purgedAtOnceTo(state, kept.upTo) + 1,
    });
    metrics.eventsPurged.inc(purged);
  }

  /** A floor applies while a record of its carrier waits in any stream: only such a record can be redelivered. */
  async function keptByCarriers(upTo: number, all: ReadonlyMap<string, FloorRecord>, ends: StreamEnds): Promise<Kept> {
    let kept: Kept = { upTo, by: null };
    for (const [carrier, floor] of all) {
      // A carrier whose floor is from another stream must read all of this one.
      const fromSeq = replayStart(floor, ends);
      if (floor.stopped || fromSeq > kept.upTo) continue;
      if (await waitsFor(bus, carrier)) kept = { upTo: fromSeq - 1, by: carrier };
    }
    return kept;
  }

  let isRunning = false;
  const stop = clock.every(limits.recorder.purgeEveryMs, () => {
    if (isRunning) return;
    isRunning = true;
    run()
      .catch((error: unknown) => log.warn({ error: messageOf(error) }, 'EVENTS could not be purged this time'))
      .finally(() => (isRunning = false));
  });
  return { run, stop };
}

/**
 * The last sequence of one purge. nats-server takes no event while it removes the files of some, and an OTP waits for its intent: so
 * the next purges have the rest, of a long backlog each a part of it.
 */
export function purgedAtOnceTo(
  { first_seq: first, messages, bytes }: { first_seq: number; messages: number; bytes: number },
  upTo: number,
): number {
  const { purgeBytes, purgeShare } = limits.recorder;
  const count = upTo - first + 1;
  const atLeast = Math.ceil((purgeBytes * messages) / Math.max(1, bytes));
  return first + Math.min(count, Math.max(atLeast, Math.ceil(count * purgeShare))) - 1;
}

/** The last purgeable sequence, and the carrier whose floor limits it. */
type Kept = { readonly upTo: number; readonly by: string | null };

function logFilling(bytes: number, max: number, { upTo, by }: Kept, recordedTo: number): void {
  const why =
    by === null ? 'events that are not recorded yet' : `carrier ${by}: messages it has started have no outcome`;
  log.error({ alarm: 'events_filling', bytes, max, keptFrom: upTo + 1, recordedTo, by, why }, 'EVENTS is filling up');
}

/** The last sequence that no reader needs, among those stored before `keptSinceMs`; 0 when there is none. */
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
    if (reader.outstanding === 0) continue; // it has read all its records
    upTo = Math.min(upTo, reader.acks ? reader.ackFloorSeq : reader.deliveredSeq);
  }
  return upTo;
}

/**
 * What endpoints have taken, or have in their lines, of what may be purged; all of it when there are no endpoints, and when the
 * stream fills up because no process sends it: it would block all messages.
 */
async function takenByWebhooksTo(bus: Bus, made: string, purgeable: number, fullness: number): Promise<number> {
  const place = await readWebhookPlace(await openBucket(bus, 'webhooks'));
  if (place === null || place.idle || place.position.made !== made || neededAfter(place) >= purgeable) return purgeable;
  if (fullness <= limits.recorder.foreignReadersRatio) return neededAfter(place);
  log.error({ alarm: 'events_reader_missing', consumer: 'webhooks' }, 'EVENTS is purged before webhooks were sent');
  return purgeable;
}

/** An operator's durable consumer counts while there is space: beyond, it would block all messages. */
export function readersThatCount(all: readonly ReaderPosition[], fullness: number): readonly ReaderPosition[] {
  if (fullness <= limits.recorder.foreignReadersRatio) return all;
  const left = all.filter(({ durable, outstanding }) => durable && outstanding > 0);
  for (const { name, outstanding } of left) {
    const of = { alarm: 'events_reader_missing', consumer: name, outstanding };
    log.error(of, 'EVENTS is purged before this reader has read it');
  }
  return all.filter(({ durable }) => !durable);
}

/** The positions of the consumers of a stream. */
export async function readersOf(bus: Bus, stream: string): Promise<readonly ReaderPosition[]> {
  const found: ReaderPosition[] = [];
  for await (const { name, config, ack_floor, delivered, ...of } of bus.manager.consumers.list(stream)) {
    found.push({
      name,
      durable: (config.durable_name ?? '') !== '',
      acks: config.ack_policy !== 'none',
      ackFloorSeq: ack_floor.stream_seq,
      deliveredSeq: delivered.stream_seq,
      outstanding: of.num_pending + of.num_ack_pending,
    });
  }
  return found;
}
