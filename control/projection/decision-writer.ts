// Writes subscribers' decisions from INBOUND into the database, with retries: while the database is unavailable they
// wait in the stream, and their entries in the bucket keep them in effect. An entry is removed only when the blocks of
// the list contain the decision. Several writers may run: decisions are ordered by their own time.
import type { JsMsg } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { NumberHashes } from '../../model/number-hash.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { until, untilDone } from '../../platform/deadline.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { type Consumption, consumeStream } from '../../cluster/bus/consume.ts';
import { moveToDead } from '../../cluster/bus/dead-letter.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { type DecisionRecord, decodeDecision } from '../../model/records/inbound-record.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { decisionConsumer, streamNames } from '../../cluster/bus/streams.ts';
import type { Store } from '../store/store.ts';
import { isInDirectory, writeDecision } from '../store/subscriber-decisions.ts';
import { sweepMarks, takeDecisionAway } from '../../directory/decision-bucket.ts';

export type DecisionWriter = { stop(): Promise<void> };

type DecisionWriterParts = {
  readonly bus: Bus;
  readonly store: Store;
  /** For unreadable records. */
  readonly publisher: Publisher;
  /** Missing: no number was ever erased. */
  readonly numbers?: NumberHashes;
  readonly clock?: Clock;
};

/** Starts when the stream exists: this role may start before any role that serves carriers. */
export function startDecisionWriter(parts: DecisionWriterParts): DecisionWriter {
  const { clock = systemClock } = parts;
  const stopping = new AbortController();
  const held = new Set<Promise<void>>();
  const sweep = async () => {
    const swept = await sweepMarks(parts.bus, clock.nowMs(), limits.inbound.marksOlderThanMs);
    if (swept > 0) log.info({ swept }, 'deletion markers of stored decisions were removed');
  };
  const stopSweep = clock.every(limits.inbound.marksSweepEveryMs, () => {
    sweep().catch((error: unknown) =>
      log.warn({ error: messageOf(error) }, 'deletion markers of decisions could not be removed'),
    );
  });
  const beginning = untilDone(
    () => consumed(parts, held, clock),
    (error) => log.info({ error }, 'subscribers’ decisions cannot be read yet'),
    { everyMs: beginAgainMs, stopping: stopping.signal, clock },
  );
  return {
    async stop() {
      stopping.abort();
      stopSweep();
      await (await beginning)?.stop();
      await Promise.all(held);
    },
  };
}

const beginAgainMs = 500;

async function consumed(parts: DecisionWriterParts, held: Set<Promise<void>>, clock: Clock): Promise<Consumption> {
  const { bus, publisher } = parts;
  const bucket = await openBucket(bus, 'suppression');
  return consumeStream(bus, {
    stream: streamNames.inbound,
    consumer: decisionConsumer(),
    prefetch: limits.inbound.decisionsHeldMax,
    clock,
    lowPriority: true,
    onPoison: (each, reason) => moveToDead(publisher, each, streamNames.inbound, reason),
    handle(each) {
      let decision: DecisionRecord;
      try {
        decision = decodeDecision(each.data);
      } catch (error) {
        return moveToDead(publisher, each, streamNames.inbound, messageOf(error));
      }
      const work = settle(parts, bucket, each, decision, clock).finally(() => held.delete(work));
      held.add(work);
    },
  });
}

async function settle(
  { store, numbers }: DecisionWriterParts,
  bucket: KV,
  from: JsMsg,
  decision: DecisionRecord,
  clock: Clock,
): Promise<void> {
  const { keyword, accountId } = decision;
  try {
    const written = await writeDecision(store, decision, numbers?.erasedKeyOf(decision.number) ?? null);
    if (written !== null) {
      const stored = () => isInDirectory(store, written.block);
      await until('the directory has the decision', stored, {
        limitMs: limits.inbound.projectedWaitMs,
        everyMs: 20,
        clock,
      });
    }
    await takeDecisionAway(bucket, decision);
    const ended = written?.ended ?? 'no_account';
    metrics.decisions.inc({ keyword, ended });
    log.info({ accountId, keyword, ended, messageId: decision.messageId }, 'a subscriber’s decision is stored');
    from.ack();
  } catch (error) {
    log.warn(
      { accountId, keyword, error: messageOf(error) },
      'a subscriber’s decision could not be stored yet; it is in effect meanwhile',
    );
    from.nak(limits.bus.nakDelayMsMax);
  }
}
