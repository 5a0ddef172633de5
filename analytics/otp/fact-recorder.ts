// Writes the facts of one-time passwords into ClickHouse. It is simpler than the recorder of events, because a row that is
// written twice is one row (schema/010-otp.sql): a fact is acked when it is in the store, and whatever was not is delivered
// again. While the store is away at most `recorderHeldMax` facts are here, and the others wait in FACTS.
import type { JsMsg } from '@nats-io/jetstream';
import type { Bus } from '../../cluster/bus/connect.ts';
import { consumeStream } from '../../cluster/bus/consume.ts';
import { moveToDead } from '../../cluster/bus/dead-letter.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { factConsumer, streamNames } from '../../cluster/bus/streams.ts';
import { factSubjects } from '../../cluster/bus/subjects.ts';
import type { Fact, GuardFact, OtpFact } from '../../model/fact.ts';
import { decodeFacts } from '../../model/records/fact-record.ts';
import type { Cancel, Clock } from '../../platform/clock.ts';
import { untilDone } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { readersOf } from '../purge.ts';
import type { Engine } from '../store/engine.ts';
import { ChangedTimes, type LateChanges } from './late-changes.ts';
import { decisionColumns, decisionRow, otpColumns, otpRow } from './fact-rows.ts';

type FactRecorderParts = {
  readonly bus: Bus;
  readonly engine: Engine;
  /** For unreadable records. */
  readonly publisher: Publisher;
  readonly late: LateChanges;
  readonly clock: Clock;
};

export type FactRecorder = { stop(): Promise<void> };

/** A fact and the delivery that is acked: a later one of the same record takes its place. */
type Held = { readonly fact: Fact; readonly record: JsMsg };

const bounds = limits.facts;

/** Returns at once; begins again until it can. */
export function recordFacts({ bus, engine, publisher, late, clock }: FactRecorderParts): FactRecorder {
  const stopping = new AbortController();
  /** By the sequence of the record. */
  let held = new Map<number, Held>();
  let writing: Promise<void> | null = null;

  function handle(record: JsMsg): void {
    // The recorder of clicks keeps those.
    if (record.subject === factSubjects.click) return record.ack();
    const [fact] = decodeFacts(record.data);
    if (fact !== undefined) held.set(record.seq, { fact, record });
    if (held.size >= bounds.insertRowsMax) write();
  }

  /** One insert at a time; what comes meanwhile is the next one. */
  function write(): void {
    if (writing !== null || held.size === 0) return;
    const batch = [...held.values()];
    held = new Map();
    writing = insertAll(batch)
      .then(() => {
        for (const { record } of batch) record.ack();
      })
      .catch((error: unknown) => {
        if (stopping.signal.aborted) return ignoring(error, 'it stops, and facts are delivered again');
        log.warn({ error: messageOf(error) }, 'facts cannot be recorded now, they wait in the stream');
        for (const one of batch) if (!held.has(one.record.seq)) held.set(one.record.seq, one);
        return clock.sleep(bounds.retryMs, stopping.signal).catch((end: unknown) => ignoring(end, 'it stops'));
      })
      .finally(() => {
        writing = null;
      });
  }

  async function insertAll(batch: readonly Held[]): Promise<void> {
    const facts = batch.map(({ fact }) => fact);
    const otps = facts.filter((fact): fact is OtpFact => fact.kind === 'otp');
    const decisions = facts.filter((fact): fact is GuardFact => fact.kind === 'guard');
    if (otps.length > 0) {
      await engine.insert(`otps (${otpColumns})`, Buffer.from(otps.map(otpRow).join('')));
      const changed = new ChangedTimes();
      for (const { accountId, livemode, createdAtMs } of otps) changed.ofOtp(accountId, livemode, createdAtMs);
      await late.note(changed);
    }
    if (decisions.length > 0) {
      const rows = Buffer.from(decisions.map(decisionRow).join(''));
      await engine.insert(`otp_guard_decisions (${decisionColumns})`, rows);
    }
  }

  const began = untilDone(
    () =>
      consumeStream(bus, {
        stream: streamNames.facts,
        consumer: factConsumer('recorder'),
        prefetch: bounds.prefetch,
        handle,
        onPoison: (record, reason) => moveToDead(publisher, record, streamNames.facts, reason),
        lowPriority: true,
        clock,
      }),
    (error) => log.warn({ error }, 'facts cannot be read now, trying again'),
    { everyMs: bounds.retryMs, stopping: stopping.signal, clock },
  );
  const stopTick = clock.every(bounds.insertEveryMs, write);
  const stopPurge = startPurge(bus, clock);

  return {
    async stop() {
      stopTick();
      stopPurge();
      stopping.abort(new Error('the recorder of facts stops'));
      const consumption = await began.catch((error: unknown) => ignoring(error, 'it never began'));
      await consumption?.stop();
      await writing;
      write();
      await writing;
    },
  };
}

const recorder = factConsumer('recorder').durable_name;

/**
 * Removes from FACTS what every reader has acked. A reader that does not come on holds it back until half of the stream is
 * full; then what is recorded is removed all the same, because otherwise no new fact could be published.
 */
function startPurge(bus: Bus, clock: Clock): Cancel {
  const stream = streamNames.facts;

  async function run(): Promise<void> {
    const { state, config } = await bus.manager.streams.info(stream);
    const isFilling = config.max_bytes > 0 && state.bytes > config.max_bytes * limits.recorder.foreignReadersRatio;
    let upTo: number | null = null;
    for (const { name, durable, outstanding, ackFloorSeq } of await readersOf(bus, stream)) {
      // Without a name of its own it is a passing one: of a client that listens to test events.
      if (!durable) continue;
      const isBehind = outstanding > 0;
      if (isFilling && isBehind && name !== recorder) {
        log.error({ alarm: 'facts_reader_missing', consumer: name }, 'FACTS is purged before this reader has read it');
        continue;
      }
      upTo = Math.min(upTo ?? Number.POSITIVE_INFINITY, isBehind ? ackFloorSeq : state.last_seq);
    }
    if (upTo !== null && upTo >= state.first_seq && state.messages > 0) {
      await bus.manager.streams.purge(stream, { seq: upTo + 1 });
    }
  }

  return clock.every(limits.facts.purgeEveryMs, () => {
    run().catch((error: unknown) => log.warn({ error: messageOf(error) }, 'FACTS could not be purged this time'));
  });
}
