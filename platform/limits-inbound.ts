// The part of limits.ts about messages from subscribers: how long parts wait for each other, what is remembered of
// repeats, what answers to keywords may cost. A file of its own only for its length; it is read as `limits`.
import { assert } from './assert.ts';

export const inboundLimits = {
  /** A repeat of the same octets within this is no second message where the carrier may have missed our answer. */
  repeatWindowMs: 120_000,
  /** How long an actor remembers deliveries: a little longer than the stream remembers their ids. */
  rememberedMs: 125_000,
  /** Deliveries of one carrier that are remembered for that: 4,096 × ~300 B = 1.2 MB. */
  rememberedMax: 4_096,
  /** deliver_sm of one carrier that wait for the stream; more are answered "not now". */
  unansweredMax: 256,
  /** Then the carrier is answered "not now" and repeats it: most wait 10 s or longer for an answer. */
  answerMs: 5_000,
  /** Records one thread holds at once. */
  heldMax: 64,
  /** An inbound consumer that stops waits this long for what it holds. */
  stopMs: 2_000,
  /** A text whose parts did not all come within this is published with what there is. */
  partsWaitMs: 5 * 60_000,
  /** How long the parts of a text, and afterwards their digests, are kept: far longer than they are waited for. */
  partsKeptMs: 24 * 3_600_000,
  /**
   * What is kept of one text while its parts come: 255 parts of 140 octets are 36 KB. As UTF-8 it is at most three
   * times as much, and with a part more it still fits into one record of EVENTS.
   */
  textBytesMax: 128 * 1024,
  /** Times one part is put into its text, against others that do the same, before it is tried again later. */
  mergeTriesMax: 8,
  /** The event store is asked who wrote last to a subscriber: not further back than this. */
  writerLookBackMs: 30 * 86_400_000,
  /** When it cannot say: a younger message is tried again after a second, an older one waits in LATER between tries. */
  writerSoonMs: 5_000,
  writerWaitMs: 15_000,
  /** Then it is moved to DEAD. */
  writerWaitMaxMs: 20 * 3_600_000,
  /** One answer to the same keyword of the same subscriber in this time: two machines must not talk for ever. */
  replyEveryMs: 60_000,
  replyValidityMs: 3_600_000,
  /** An answer that finds no room in its queue is tried again this often, then given up: it is only an answer. */
  replyTriesMax: 20,
  replyCharsMax: 459,
  /** How long the writer of decisions waits for the directory to have what it wrote, before it looks again later. */
  projectedWaitMs: 3_000,
  decisionsHeldMax: 64,
  /** A deleted entry leaves a mark of ~150 B in the bucket. It goes when every reader has seen it: not before 10 min. */
  marksSweepEveryMs: 15 * 60_000,
  marksOlderThanMs: 10 * 60_000,
  marksPerSweepMax: 10_000,
} as const;

assert(
  inboundLimits.rememberedMs > inboundLimits.repeatWindowMs,
  'what is said again would be taken for a repeat by the stream',
);
assert(
  inboundLimits.partsKeptMs > 10 * inboundLimits.partsWaitMs,
  'the parts of a text could be forgotten before they are published',
);
assert(
  inboundLimits.writerWaitMaxMs < inboundLimits.partsKeptMs,
  'the parts of a text could be forgotten while it waits to be published',
);
assert(inboundLimits.replyEveryMs <= inboundLimits.repeatWindowMs, 'an answer could be given twice to one message');
