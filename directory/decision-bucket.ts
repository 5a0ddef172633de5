// Writes a subscriber's decision into the bucket of suppressed numbers, where every entry point sees it within
// milliseconds, and removes it again. By compare-and-set only: the later decision wins, whoever writes last.
import { DeliverPolicy } from '@nats-io/jetstream';
import type { KV, KvEntry } from '@nats-io/kv';
import type { SubscriberDecision } from '../model/subscriber-decision.ts';
import { withDeadline } from '../platform/deadline.ts';
import { RetryLater } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { merge, readEntry, remove } from '../cluster/bus/bucket.ts';
import { bucketOperation, streamOfBucket, subjectInBucket } from '../cluster/bus/streams.ts';
import { type DecisionEntry, decisionEntryName, decodeDecisionEntry, isLaterWord } from './decisions.ts';

const sweepWithinMs = 10_000;

/** Resolves when it, or a later word, is in the bucket. */
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

/** It is written down. A later word that has taken its place stays: that one has a record of its own. */
export async function takeDecisionAway(bucket: KV, decision: SubscriberDecision): Promise<void> {
  const name = decisionEntryName(decision);
  const { entry, revision } = await readEntry(bucket, name);
  if (entry === null) return;
  const held = decodeDecisionEntry(entry.value);
  if (held !== null && isLaterWord(held, decision)) return;
  // A conflict: a later word has taken its place in this moment.
  await remove(bucket, name, revision);
}

/**
 * Clears away what deleted entries left behind, or the bucket would fill with marks of decisions long written down. Only
 * old ones: a reader that has not seen a mark yet would keep the opt-out. Returns how many went.
 */
export async function sweepMarks(bus: Bus, nowMs: number, olderThanMs: number): Promise<number> {
  const marks = await withDeadline('the marks of decisions', sweepWithinMs, readMarks(bus, nowMs - olderThanMs));
  for (const { subject, seq } of marks) {
    // Up to the mark itself: an entry that was put since then stays.
    await bus.manager.streams.purge(streamOfBucket('suppression'), { filter: subject, seq: seq + 1 });
  }
  return marks.length;
}

type Mark = { readonly subject: string; readonly seq: number };

async function readMarks(bus: Bus, beforeMs: number): Promise<readonly Mark[]> {
  const consumer = await bus.jetstream.consumers.get(streamOfBucket('suppression'), {
    filter_subjects: subjectInBucket('suppression', 'decision.>'),
    deliver_policy: DeliverPolicy.LastPerSubject,
  });
  const { num_pending: present } = await consumer.info();
  if (present === 0) return [];
  // What is replaced while it is read comes later or not at all: the pull ends by its time then.
  const records = await consumer.fetch({
    max_messages: Math.min(present, limits.inbound.marksPerSweepMax),
    expires: sweepWithinMs / 2,
  });
  const marks: Mark[] = [];
  for await (const { subject, seq, headers, time, info } of records) {
    if (headers?.has(bucketOperation) === true && time.getTime() <= beforeMs) marks.push({ subject, seq });
    if (info.pending === 0) break;
  }
  return marks;
}
