// Serves the queries of contract.ts over NATS. A bounded number is in progress and each ends within its deadline, so
// every query gets a reply, `unavailable` if need be. A node that does not record passes a query on to the recording
// one; without its answer it searches itself, and can answer `found` but never `none`. Input was validated at the
// ingress; input that would break a statement is refused here too.
import type { Msg, Subscription } from '@nats-io/transport-node';
import type { Bus } from '../../cluster/bus/connect.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { RetryLater, ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { LogThrottle } from '../../platform/log-throttle.ts';
import type { SharedBound, Use } from '../../platform/shared-bound.ts';
import { metrics } from '../../platform/telemetry.ts';
import {
  type EraseRows,
  type EraseRowsReply,
  type FindWriter,
  type GetMessage,
  type ListMessages,
  type RunReport,
  type ReplayEvents,
  type ReplayFacts,
  type ReplaySource,
  queryQueueGroup,
  querySubjects,
  recorderSubject,
} from '../contract.ts';
import type { Engine } from '../store/engine.ts';
import { submittedSearch } from './find-submitted.ts';
import { findWriter } from './find-writer.ts';
import type { RecordedUntil } from './recorded-until.ts';
import { type Sources, getMessage, useOf } from './get-message.ts';
import type { ReportServer } from './report-server.ts';
import { listMessages } from './list-messages.ts';
import { replayEvents } from './replay-events.ts';
import { replayFacts } from './replay-facts.ts';
import { unavailable } from './up-to-date.ts';

export type QueryServer = {
  /** This node records from now on: other nodes pass queries on to it. */
  beginToRecord(): void;
  endToRecord(): void;
  /** Takes no more queries; pending ones are still answered. */
  stop(): Promise<void>;
};

type Ask = (query: never) => Promise<{ readonly result: string }>;

type Parts = {
  readonly bus: Bus;
  readonly engine: Engine;
  readonly sources: Sources;
  readonly places: SharedBound;
  readonly reports: ReportServer;
  readonly eraseRows: (query: EraseRows) => Promise<EraseRowsReply>;
  readonly recordedUntil: RecordedUntil;
  /** Why accounts get nothing of the store now; null: they do. */
  readonly unreadable: () => string | null;
};

export function serveQueries({
  bus,
  engine,
  sources,
  places,
  reports,
  eraseRows,
  recordedUntil,
  unreadable,
}: Parts): QueryServer {
  const clock = sources.clock ?? systemClock;
  const held = new Set<Promise<void>>();
  const failures = new LogThrottle(failureLogEveryMs, clock);
  const { unflushed, upToDate } = sources;
  const behind = async (source: ReplaySource, { recordedUntilMs }: ReplayEvents | ReplayFacts) =>
    recordedUntilMs === undefined ? null : recordedUntil(source, recordedUntilMs);
  const all: Readonly<Record<string, Ask>> = {
    [querySubjects.get]: (query: GetMessage) => getMessage(sources, query),
    [querySubjects.list]: (query: ListMessages) => listMessages(engine, sources, query),
    [querySubjects.findWriter]: (query: FindWriter) => findWriter(engine, sources, query),
    [querySubjects.report]: (query: RunReport) => reports.run(query),
    [querySubjects.replayEvents]: async (query: ReplayEvents) =>
      (await behind('messages', query)) ?? replayEvents(engine, query, clock),
    [querySubjects.replayFacts]: async (query: ReplayFacts) =>
      (await behind(query.kind, query)) ?? replayFacts(engine, query, clock),
    [querySubjects.eraseRows]: eraseRows,
    [querySubjects.findSubmitted]: submittedSearch(engine, unflushed, upToDate, clock),
  };
  const asks = Object.entries(all).map(([name, ask]) => [name, systemQueries.has(name) ? ask : readable(ask)] as const);
  let passedOn: readonly Subscription[] = [];
  let isRecording = false;

  function readable(ask: Ask): Ask {
    return async (query) => {
      const why = unreadable();
      return why === null ? ask(query) : unavailable('away', why);
    };
  }

  function take(name: string, ask: Ask, msg: Msg): void {
    // An unreadable query is answered with an error and nothing else is done.
    const { accountId, use } = askerOf(name, msg);
    const taken = places.take(accountId, use);
    if (taken !== 'taken') return respond(msg, unavailable('busy', `too many queries at once: ${taken}`));
    const work = reply(clock, failures, name, msg, ask).finally(() => {
      held.delete(work);
      places.giveBack(accountId, use);
    });
    held.add(work);
  }

  const fromOutside = asks.map(([name, ask]) =>
    bus.connection.subscribe(name, {
      queue: queryQueueGroup,
      callback: (_error, msg) => take(name, isRecording ? ask : (query) => passOn(name, query, ask), msg),
    }),
  );

  async function passOn(name: string, query: never, ask: Ask): Promise<{ readonly result: string }> {
    try {
      const request = { timeout: name === querySubjects.report ? limits.reports.deadlineMs : limits.queries.passOnMs };
      const answer = await bus.connection.request(recorderSubject(name), JSON.stringify(query), request);
      return answer.json();
    } catch (error) {
      ignoring(error, 'the recording node did not answer');
      return ask(query);
    }
  }

  return {
    beginToRecord() {
      isRecording = true;
      passedOn = asks.map(([name, ask]) =>
        bus.connection.subscribe(recorderSubject(name), { callback: (_error, msg) => take(name, ask, msg) }),
      );
    },
    endToRecord() {
      isRecording = false;
      for (const each of passedOn) each.unsubscribe();
      passedOn = [];
    },
    async stop() {
      await Promise.all([...fromOutside, ...passedOn].map((each) => each.drain())).catch((error: unknown) =>
        ignoring(error, 'the connection is gone and its subscriptions with it'),
      );
      await Promise.all(held);
    },
  };
}

/** While the event store is away every query fails: `heliograph_store_queries_total` counts them. */
const failureLogEveryMs = 10_000;

/** A report ends by its own deadline and says so. */
const answeredMs = 500;

/** Queries of carriers for their own work; every other one takes the share of the account that it names. */
const systemQueries: ReadonlySet<string> = new Set([
  querySubjects.findSubmitted,
  querySubjects.findWriter,
  querySubjects.eraseRows,
]);

function askerOf(name: string, msg: Msg): { readonly accountId: string; readonly use: Use } {
  if (systemQueries.has(name)) return { accountId: '', use: 'system' };
  try {
    const query = msg.json<GetMessage | null>();
    return { accountId: String(query?.accountId), use: query === null ? 'ordinary' : useOf(query) };
  } catch (error) {
    ignoring(error, 'the unreadable query is refused in its answer');
    return { accountId: '', use: 'ordinary' };
  }
}

async function reply(clock: Clock, failures: LogThrottle, query: string, msg: Msg, ask: Ask): Promise<void> {
  const startedAtMs = clock.monotonicMs();
  let answered: { readonly result: string };
  try {
    const asked = msg.json<never>();
    const deadlineMs =
      query === querySubjects.report ? limits.reports.deadlineMs + answeredMs : limits.queries.deadlineMs;
    answered = await withDeadline('a query', deadlineMs, ask(asked), clock);
  } catch (error) {
    const suppressed = failures.allow();
    if (suppressed !== null) log.warn({ query, error: messageOf(error), suppressed }, 'a query could not be answered');
    answered = unavailable(error instanceof RetryLater ? 'busy' : 'away', messageOf(error));
  }
  metrics.storeQueries.inc({ query, ended: answered.result });
  metrics.storeQuerySeconds.observe((clock.monotonicMs() - startedAtMs) / 1000);
  respond(msg, answered);
}

function respond(msg: Msg, answered: object): void {
  try {
    msg.respond(JSON.stringify(answered));
  } catch (error) {
    ignoring(error, 'the connection closed before the answer was ready');
  }
}
