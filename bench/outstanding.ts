// The cost of a segment that waits for its receipt: memory, measured after garbage collection, and the time to store
// and to find it. Messages are decoded from their records, as in an actor, so that nothing is shared by accident.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Outstanding } from '../actors/carrier/receipts/outstanding.ts';
import { bodyCipher } from '../model/records/body-cipher.ts';
import { decodeMessage, encodeMessage } from '../model/records/message-record.ts';
import { type DeliveryEvent, eventOfMessage } from '../model/delivery-event.ts';
import { newMessageId } from '../model/ids.ts';
import { systemClock } from '../platform/clock.ts';
import { limits } from '../platform/limits.ts';
import { messageWith } from '../test/support/messages.ts';
import { type Bench, type BenchOptions, seedOption } from './harness/bench.ts';
import { type BenchResult, zero } from './harness/report.ts';

export const bench: Bench<'count' | 'seed'> = {
  about: 'memory and time of a segment that waits for its receipt',
  takes: 'some seconds',
  options: {
    count: { about: 'segments that wait', default: 150_000 },
    seed: seedOption,
  },
  targets: () => [
    { figure: 'outstanding_bytes_per_message', op: '<=', bound: 300 },
    ...zero('not_found', 'straggling_not_found'),
  ],
  run,
};

const batch = 1_000;
const cipher = bodyCipher(Buffer.alloc(32, 7));

async function run({ seed, count }: BenchOptions<'count' | 'seed'>): Promise<BenchResult> {
  setFlagsFromString('--expose_gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const usedBytes = () => {
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const all = Math.min(count, limits.carrier.outstandingMax);
  const outstanding = new Outstanding('auto');
  const before = usedBytes();
  let addedMs = 0;
  for (let first = 0; first < all; first += batch) {
    const events = Array.from({ length: batch }, (_, at) => submitted(first + at, seed));
    const beganMs = systemClock.monotonicMs();
    for (const event of events) outstanding.add(event);
    addedMs += systemClock.monotonicMs() - beganMs;
  }
  const bytes = usedBytes() - before;
  const kept = outstanding.size;
  const beganMs = systemClock.monotonicMs();
  let found = 0;
  for (let at = 0; at < all; at += 1) {
    const match = outstanding.find(receiptIdOf(at, seed), recipientOf(at));
    if (match?.repeated !== false) continue;
    outstanding.settle(match.submitted);
    found += 1;
  }
  const settledMs = systemClock.monotonicMs() - beganMs;
  const late = withStragglers(seed);
  return {
    load: `${all} segments that wait, ids hexadecimal in the response and decimal in the receipt`,
    figures: {
      outstanding_bytes_per_message: bytes / kept,
      outstanding_worst_mb: (limits.carrier.outstandingMax * bytes) / kept / 2 ** 20,
      remember_us: (addedMs * 1_000) / all,
      find_and_settle_us: (settledMs * 1_000) / all,
      not_found: all - found,
      straggling_remember_and_settle_us: late.microseconds,
      straggling_not_found: late.notFound,
    },
  };
}

/** The cost of a million segments, of which one in twenty waits to the end and the others for a thousand more. */
function withStragglers(seed: number): { readonly microseconds: number; readonly notFound: number } {
  const count = 1_000_000;
  const outstanding = new Outstanding('auto');
  const waitsLong = (at: number) => at % 20 === 0;
  let tookMs = 0;
  let notFound = 0;
  for (let first = 0; first < count; first += batch) {
    const events = Array.from({ length: batch }, (_, at) => submitted(first + at, seed));
    const beganMs = systemClock.monotonicMs();
    for (const event of events) outstanding.add(event);
    for (let at = Math.max(0, first - batch); at < first; at += 1) {
      if (waitsLong(at)) continue;
      const match = outstanding.find(receiptIdOf(at, seed), recipientOf(at));
      if (match?.repeated === false) outstanding.settle(match.submitted);
      else notFound += 1;
    }
    tookMs += systemClock.monotonicMs() - beganMs;
  }
  for (let at = 0; at < count; at += 20) {
    if (outstanding.find(receiptIdOf(at, seed), recipientOf(at))?.repeated !== false) notFound += 1;
  }
  return { microseconds: (tookMs * 1_000) / count, notFound };
}

const idOf = (at: number, seed: number) => BigInt(seed) * 4_000_000_000n + BigInt(at) * 977n;
const receiptIdOf = (at: number, seed: number) => idOf(at, seed).toString(10).padStart(12, '0');
const recipientOf = (at: number) => `+88017${10_000_000 + at}`;

function submitted(at: number, seed: number): DeliveryEvent {
  const message = messageWith({
    messageId: newMessageId(systemClock.nowMs()),
    recipient: recipientOf(at),
    clientReference: at % 2 === 0 ? null : `order-${at}`,
  });
  return eventOfMessage(decodeMessage(encodeMessage(message, cipher), cipher), {
    kind: 'submitted',
    atMs: systemClock.nowMs(),
    attempt: 1,
    segment: 1,
    carrierMessageId: idOf(at, seed).toString(16),
  });
}
