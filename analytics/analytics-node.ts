// The parts of the analytics role: what records (recording.ts), the query server and the reports. A node whose recorder is
// fenced still answers queries.
import type { Bus } from '../cluster/bus/connect.ts';
import type { Erasure } from '../cluster/bus/erasures.ts';
import { EventWriter } from '../cluster/bus/event-writer.ts';
import { numberKey } from '../cluster/bus/installation-secret.ts';
import { Publisher } from '../cluster/bus/publisher.ts';
import { streamNames } from '../cluster/bus/streams.ts';
import { retentionDefault } from '../config/retention-schema.ts';
import { NumberHashes } from '../model/number-hash.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { withDeadline } from '../platform/deadline.ts';
import { ignoring } from '../platform/errors.ts';
import { type Shares, defaultShares } from '../platform/limits-shares.ts';
import { linkDaysDefault } from '../platform/limits-streams.ts';
import { SharedBound } from '../platform/shared-bound.ts';
import { metrics } from '../platform/telemetry.ts';
import { type QueryServer, serveQueries } from './queries/query-server.ts';
import { serveReports } from './queries/report-server.ts';
import { Arrivals } from './queries/arrivals.ts';
import { recordedUntilOver } from './queries/recorded-until.ts';
import { RecordedEvents } from './queries/recorded-events.ts';
import { Recording } from './recording.ts';
import { RecordingWatch } from './recording-watch.ts';
import type { Engine } from './store/engine.ts';
import type { KeptDays } from './store/retention.ts';
import type { TrimmedDays } from './store/trim.ts';

export type AnalyticsNode = {
  /** Always ok: messages are accepted and sent without it. `detail` says what is wrong. */
  health(): { ok: boolean; detail: string };
  /** How late the recorder is, in ms (recorder.ts); 0 while another node records. */
  readonly lateMs: number;
  /** Why nothing of the store may be answered now; null: it may. */
  readonly unreadable: string | null;
  /** Records the events read so far, answers pending queries, and closes the engine. */
  stop(deadlineMs: number): Promise<void>;
};

type Options = {
  readonly shares?: Shares;
  readonly retention?: TrimmedDays & KeptDays;
  readonly linkDays?: number;
  /** Erasures that this machine knows, beside those in NATS. */
  readonly knownErasures?: () => readonly Erasure[];
  readonly clock?: Clock;
};

const lagEveryMs = 5_000;

/** The schema must be applied. Resolves when the recorder reads and queries are answered. */
export async function startAnalytics(bus: Bus, engine: Engine, options: Options = {}): Promise<AnalyticsNode> {
  const { shares = defaultShares, retention = retentionDefault, linkDays = linkDaysDefault } = options;
  const { knownErasures = () => [], clock = systemClock } = options;
  const publisher = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const writer = new EventWriter(publisher);
  const arrivals = new Arrivals(clock);
  const recorded = new RecordedEvents(engine);
  const numbers = new NumberHashes(await numberKey(bus));
  const recording: Recording = new Recording({
    ...{ bus, engine, publisher, writer, numbers, arrivals, recorded, retention, linkDays, knownErasures, clock },
    changed: (isRecording) => (isRecording ? answers.beginToRecord() : answers.endToRecord()),
  });
  const { unflushed, upToDate } = recording;
  const reports = serveReports(bus, engine, new SharedBound('reports_running', shares.reports_running), clock);
  const recordedUntil = recordedUntilOver({
    ...{ bus, clock },
    eventsRecordedTo: () => recording.recorder?.recordedTo ?? null,
    clicksRecordedTo: () => (recording.recorder === null ? null : recording.clicksRecordedTo()),
  });
  const answers: QueryServer = serveQueries({
    ...{ bus, engine, reports, recordedUntil },
    sources: { recorded, unflushed, arrivals, upToDate, numbers, clock },
    places: new SharedBound('store_queries', shares.store_queries),
    eraseRows: (query) => recording.eraseRows(query),
    unreadable: () => recording.lacking.why,
  });

  await recording.begin();
  const watch = new RecordingWatch(() => recording.recorder?.waiting ?? null, clock);
  const cancelLag = clock.every(lagEveryMs, () => void measureLag(bus, recording));

  return {
    health: () => ({ ok: true, detail: detailOf(recording, watch) }),
    get lateMs() {
      return recording.recorder?.lateMs ?? 0;
    },
    get unreadable() {
      return recording.lacking.why;
    },
    async stop(deadlineMs) {
      recording.announceStop();
      cancelLag();
      watch.close();
      arrivals.close();
      writer.flush();
      reports.stop();
      await recording.stopKeepers(deadlineMs * 0.3);
      await Promise.all([answers.stop(), recording.recorder?.stop(deadlineMs * 0.6)]);
      await withDeadline('the last events', deadlineMs * 0.1, publisher.idle()).catch((error: unknown) =>
        ignoring(error, 'the reaper publishes its events again after the next start'),
      );
      writer.close();
      publisher.close();
    },
  };
}

function detailOf({ recorder, isFenced, lacking }: Recording, { failingSince }: RecordingWatch): string {
  if (recorder === null) return isFenced ? 'another node records' : 'nothing is recorded: the recorder begins again';
  const state = failingSince === null ? 'recording' : `nothing recorded since ${failingSince.toISOString()}`;
  return lacking.why === null ? state : `${state}; ${lacking.why}`;
}

/** Of a node that does not record there is none. */
async function measureLag(bus: Bus, { recorder }: Recording): Promise<void> {
  if (recorder === null) return metrics.recorderPending.set(0);
  const { recordedTo } = recorder;
  try {
    const { state } = await bus.manager.streams.info(streamNames.events);
    metrics.recorderPending.set(Math.max(0, state.last_seq - Math.max(recordedTo, state.first_seq - 1)));
  } catch (error) {
    ignoring(error, 'the lag is measured again in a moment');
  }
}
