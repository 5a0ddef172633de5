// Writes a subscriber's decision into the bucket of suppressed numbers, where every entry point sees it within
// milliseconds, and removes it again. By compare-and-set only: the later decision wins, whichever is written last.
import type { KV, KvEntry } from '@nats-io/kv';
import type { SubscriberDecision } from '../model/subscriber-decision.ts';
import { RetryLater } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { merge, readEntry, remove } from '../cluster/bus/bucket.ts';
import { readPresent } from '../cluster/bus/read-present.ts';
import { bucketOperation, streamOfBucket, subjectInBucket } from '../cluster/bus/streams.ts';
import { type DecisionEntry, decisionEntryName, decodeDecisionEntry, isLaterWord } from './decisions.ts';

const sweepWithinMs = 5_000;

/** Resolves when it, or a later decision, is in the bucket. */
export async function putDecision(bucket: KV, decision: SubscriberDecision): Promise<void> {
  const name = decisionEntryName(decision);
  const { keyword, sender, atMs } = decision;
  const text = JSON.stringify({ v: 1, keyword, sender, atMs } satisfies DecisionEntry);
  const laterWord = (entry: KvEntry | null) => {
    const held = entry === null ? null : decodeDecisionEntry(entry.value);
    return held === null || isLaterWord(decision, held) ? text : null;
  };
  if ((await merge(bucket, name, laterWord, limits.inbound.mergeTriesMax)) === 'ok') return;
  throw new RetryLater('others write the same decision again and again', limits.bus.nakDelayMsMax);
}

/** The database has it. A later decision that has replaced it stays: that one has a record of its own. */
export async function takeDecisionAway(bucket: KV, decision: SubscriberDecision): Promise<void> {
  const name = decisionEntryName(decision);
  const { entry, revision } = await readEntry(bucket, name);
  if (entry === null) return;
  const held = decodeDecisionEntry(entry.value);
  if (held !== null && isLaterWord(held, decision)) return;
  // A conflict: a later decision has just replaced it.
  await remove(bucket, name, revision);
}

/**
 * Purges the delete markers of entries, which would otherwise fill the bucket. Only old ones: a reader that has not
 * seen a marker yet would keep the opt-out. Returns their number.
 */
export async function sweepMarks(bus: Bus, nowMs: number, olderThanMs: number): Promise<number> {
  const stream = streamOfBucket('suppression');
  const marks: { readonly subject: string; readonly seq: number }[] = [];
  const reading = {
    filter: subjectInBucket('suppression', 'decision.>'),
    lastPerSubject: true,
    recordsMax: limits.inbound.marksPerSweepMax,
    withinMs: sweepWithinMs,
  };
  await readPresent(bus, stream, reading, ({ subject, seq, headers, time }) => {
    if (headers?.has(bucketOperation) === true && time.getTime() <= nowMs - olderThanMs) marks.push({ subject, seq });
  });
  for (const { subject, seq } of marks) {
    // Up to the marker itself: an entry put since then stays.
    await bus.manager.streams.purge(stream, { filter: subject, seq: seq + 1 });
  }
  return marks.length;
}
