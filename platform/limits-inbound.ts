// Bounds of messages from subscribers: waiting for parts, recognising repeats, replies to keywords. Read as
// `limits.inbound`.
import { assert } from './assert.ts';

export const inboundLimits = {
  /** The same octets within this time are a repeat if our response may not have reached the carrier. */
  repeatWindowMs: 120_000,
  /** How long an actor remembers deliveries: a little longer than the stream remembers their ids. */
  rememberedMs: 125_000,
  /** Deliveries remembered for each carrier: 4,096 × ~300 B = 1.2 MB. */
  rememberedMax: 4_096,
  /** deliver_sm of one carrier that wait for the stream; further ones get a temporary error. */
  unansweredMax: 256,
  /** After this the carrier gets a temporary error and repeats the deliver_sm: most wait at least 10 s. */
  answerMs: 5_000,
  /** Records that one thread processes at once. */
  heldMax: 64,
  /** How long a stopping inbound consumer waits for the records it is processing. */
  stopMs: 2_000,
  /** A text whose parts have not all arrived after this is published without the missing ones. */
  partsWaitMs: 5 * 60_000,
  /** How long the parts of a text, and later their digests, are kept: far longer than partsWaitMs. */
  partsKeptMs: 24 * 3_600_000,
  /**
   * Octets kept for one incomplete text: 255 parts of 140 octets are 36 KB. As UTF-8 it is at most three times as much,
   * and with one part more it still fits into one record of EVENTS.
   */
  textBytesMax: 128 * 1024,
  /** Attempts to merge one part into its text against concurrent writers, before it is retried later. */
  mergeTriesMax: 8,
  /** How far back the event store is searched for the account that wrote to a subscriber last. */
  writerLookBackMs: 30 * 86_400_000,
  /**
   * While the event store cannot answer: a message younger than this is retried after a second, an older one waits in
   * LATER between attempts.
   */
  writerSoonMs: 5_000,
  writerWaitMs: 15_000,
  /** After this the message is moved to DEAD. */
  writerWaitMaxMs: 20 * 3_600_000,
  /** One reply to the same keyword of the same subscriber in this time: two machines must not reply for ever. */
  replyEveryMs: 60_000,
  replyValidityMs: 3_600_000,
  /** Attempts to publish a reply to a full queue; then the reply is dropped. */
  replyTriesMax: 20,
  replyCharsMax: 459,
  /** How long the writer of decisions waits until the directory contains what it wrote; then it checks later. */
  projectedWaitMs: 3_000,
  decisionsHeldMax: 64,
  /** A deleted entry leaves a marker of ~150 B. It is removed when every reader has seen it: not before 10 min. */
  marksSweepEveryMs: 15 * 60_000,
  marksOlderThanMs: 10 * 60_000,
  marksPerSweepMax: 10_000,
} as const;

assert(
  inboundLimits.rememberedMs > inboundLimits.repeatWindowMs,
  'the stream would drop a new message with the same text as a repeat',
);
assert(
  inboundLimits.partsKeptMs > 10 * inboundLimits.partsWaitMs,
  'the parts of a text could be forgotten before they are published',
);
assert(
  inboundLimits.writerWaitMaxMs < inboundLimits.partsKeptMs,
  'the parts of a text could be forgotten while it waits to be published',
);
assert(inboundLimits.replyEveryMs <= inboundLimits.repeatWindowMs, 'one message could be replied to twice');
