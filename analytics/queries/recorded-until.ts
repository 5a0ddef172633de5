// Whether the event store has everything that its streams had at a time. Replays ask: what is not recorded yet would be left out
// of them without a word. The stream says it: nothing is left of it, or what is left came later.
import type { Bus } from '../../cluster/bus/connect.ts';
import { factConsumer, streamNames } from '../../cluster/bus/streams.ts';
import { nextRecord } from '../../cluster/bus/walk-stream.ts';
import type { Fact } from '../../model/fact.ts';
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import type { ReplaySource, Unavailable } from '../contract.ts';
import { readersOf } from '../purge.ts';
import { unavailable } from './up-to-date.ts';

/** Null: it has. `behind` with `behindMs`: how old the first record is that it lacks. */
export type RecordedUntil = (source: ReplaySource, atMs: number) => Promise<Unavailable | null>;

type Parts = {
  readonly bus: Bus;
  /** The last record of EVENTS and of CLICKS that is in the store; null while another node records. */
  readonly eventsRecordedTo: () => number | null;
  readonly clicksRecordedTo: () => Promise<number> | null;
  readonly clock: Clock;
};

export function recordedUntilOver({ bus, eventsRecordedTo, clicksRecordedTo, clock }: Parts): RecordedUntil {
  const recordedTo: { readonly [Source in ReplaySource]: () => Promise<number> | number | null } = {
    messages: eventsRecordedTo,
    click: clicksRecordedTo,
    otp: () => factsRecordedTo(bus),
    guard: () => factsRecordedTo(bus),
  };
  return async (source, atMs) => {
    try {
      const seq = await recordedTo[source]();
      if (seq === null) return unavailable('behind', 'another node records');
      // The next record of FACTS may be a click, which others record: its place says the same.
      const left = await nextRecord(bus, streamOf[source], '>', seq + 1);
      if (left === null || left.time.getTime() >= atMs) return null;
      const behindMs = Math.max(0, clock.nowMs() - left.time.getTime());
      return { ...unavailable('behind', `${streamOf[source]} is recorded up to ${seq}`), behindMs };
    } catch (error) {
      return unavailable('away', messageOf(error));
    }
  };
}

const streamOf: { readonly [Source in ReplaySource]: string } = {
  messages: streamNames.events,
  click: streamNames.clicks,
  otp: streamNames.facts,
  guard: streamNames.facts,
} satisfies { readonly [Kind in Fact['kind'] | 'messages']: string };

/** What the recorder of facts has acked is in the store. */
async function factsRecordedTo(bus: Bus): Promise<number> {
  const recorder = factConsumer('recorder').durable_name;
  const reader = (await readersOf(bus, streamNames.facts)).find(({ name }) => name === recorder);
  if (reader === undefined) return 0;
  return reader.outstanding === 0 ? Math.max(reader.deliveredSeq, reader.ackFloorSeq) : reader.ackFloorSeq;
}
