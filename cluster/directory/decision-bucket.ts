// Puts a subscriber's decision into the bucket of suppressed numbers, where every door sees it within milliseconds, and
// takes it away again. By compare-and-set only: the later word holds, whoever writes last.
import type { KV, KvEntry } from '@nats-io/kv';
import type { SubscriberDecision } from '../../model/subscriber-decision.ts';
import { systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { RetryLater, ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from '../bus/connect.ts';
import { isApiError, wrongLastSequence } from '../bus/api-errors.ts';
import { streamOfBucket, subjectInBucket } from '../bus/streams.ts';
import { type DecisionEntry, decisionEntryName, decodeDecisionEntry, isLaterWord } from './decisions.ts';

const sweepWithinMs = 5_000;

/** Resolves when it, or a later word, is in the bucket. */
export async function putDecision(bucket: KV, decision: SubscriberDecision): Promise<void> {
  const name = decisionEntryName(decision);
  const { keyword, sender, atMs } = decision;
  for (let tries = 0; tries < limits.inbound.mergeTriesMax; tries += 1) {
    const entry = await bucket.get(name);
    const held = entry?.operation === 'PUT' ? decodeDecisionEntry(entry.value) : null;
    if (held !== null && !isLaterWord(decision, held)) return;
    try {
      const text = JSON.stringify({ v: 1, keyword, sender, atMs } satisfies DecisionEntry);
      await bucket.put(name, text, { previousSeq: entry?.revision ?? 0 });
      return;
    } catch (error) {
      if (!isApiError(error, wrongLastSequence)) throw error;
    }
  }
  throw new RetryLater('others write the same decision again and again', limits.bus.nakDelayMsMax);
}

/** It is written down. A later word that has taken its place stays: that one has a record of its own. */
export async function takeDecisionAway(bucket: KV, decision: SubscriberDecision): Promise<void> {
  const name = decisionEntryName(decision);
  const entry = await bucket.get(name);
  if (entry === null || entry.operation !== 'PUT') return;
  const held = decodeDecisionEntry(entry.value);
  if (held !== null && isLaterWord(held, decision)) return;
  try {
    await bucket.delete(name, { previousSeq: entry.revision });
  } catch (error) {
    if (!isApiError(error, wrongLastSequence)) throw error;
    ignoring(error, 'a later word has taken the place of a decision that was written down');
  }
}

/**
 * Clears away what deleted entries left behind, or the bucket would fill with marks of decisions long written down. Only
 * old ones: a reader that has not seen a mark yet would keep the opt-out. Returns how many went.
 */
export async function sweepMarks(bus: Bus, bucket: KV, nowMs: number, olderThanMs: number): Promise<number> {
  const old: KvEntry[] = [];
  const history = await withDeadline('the marks of decisions', sweepWithinMs, bucket.history({ key: 'decision.>' }));
  // What is replaced while it is read may leave the reader waiting for an end; the rest goes with the next sweep.
  const enough = systemClock.after(sweepWithinMs, () => history.stop());
  for await (const entry of history) {
    if (entry.operation !== 'PUT' && entry.created.getTime() <= nowMs - olderThanMs) old.push(entry);
    if (old.length >= limits.inbound.marksPerSweepMax) break;
  }
  enough();
  for (const { key, revision } of old) {
    // Up to the mark itself: an entry that was put since then stays.
    const filter = subjectInBucket('suppression', key);
    await bus.manager.streams.purge(streamOfBucket('suppression'), { filter, seq: revision + 1 });
  }
  return old.length;
}
