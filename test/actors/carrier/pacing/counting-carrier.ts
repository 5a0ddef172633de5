// A model of what pacing works against, in simulated time: an actor that sends every millisecond unless it stalls,
// intents that take their time, links that stall and then deliver everything at once, and a carrier that counts what it
// processes, in any second wherever it begins. It simulates an hour of faults in a second; the real parts are tested
// elsewhere.
import { pacing, type WrittenPdu } from '../../../../actors/carrier/pacing/pacing.ts';
import type { Random } from '../../../../platform/random.ts';

export type Stall = { readonly atMs: number; readonly forMs: number };

export type Scene = {
  readonly tps: number;
  readonly seconds: number;
  readonly binds?: number;
  /** One way, to the carrier and back; each bind's octets keep their order. */
  readonly wayMs?: (atMs: number) => number;
  /** From counting a segment to its answer. */
  readonly answerMs?: (atMs: number) => number;
  readonly intentMs?: () => number;
  /** Stalls of the actor's event loop. */
  readonly ourStalls?: readonly Stall[];
  /** Stalls of the carrier. */
  readonly theirStalls?: readonly Stall[];
  /** Nothing gets through, both ways: a lost packet and its retransmission. */
  readonly lineStalls?: readonly Stall[];
};

export type Outcome = {
  /** Counted per second over the contract, from the first one on. */
  readonly share: number;
  readonly throttled: number;
  /** The most in any second, the refused included. */
  readonly peak: number;
};

type Intent = { readonly chosenMs: number; readonly durableMs: number };

export function play(scene: Scene): Outcome {
  const { tps, seconds, binds = 2, ourStalls = [], theirStalls = [], lineStalls = [] } = scene;
  const { wayMs = () => 0.2, answerMs = () => 1, intentMs = () => 4 } = scene;
  const pace = pacing(tps);
  const intents: Intent[] = [];
  const wires = Array.from({ length: binds }, () => ({ toThem: 0, counted: 0 }));
  /** By the millisecond in which our socket has them. */
  const answers = new Map<number, WrittenPdu[]>();
  const reachedMs: number[] = [];
  let [readMs, ready, turn] = [startMs, 0, 0];
  const endMs = startMs + seconds * 1_000;
  for (let nowMs = startMs; nowMs < endMs; nowMs += 1) {
    if (stalledUntil(ourStalls, nowMs) > nowMs) continue;
    // Segments in the sockets.
    for (; readMs <= nowMs; readMs += 1) {
      for (const submit of answers.get(readMs) ?? []) pace.answered(submit, nowMs);
      answers.delete(readMs);
    }
    for (; intents.length > 0 && (intents[0] as Intent).durableMs <= nowMs; ready += 1) {
      pace.intentTook(nowMs - (intents.shift() as Intent).chosenMs);
    }
    for (; ready > 0 && pace.writeWaitMs(1, nowMs) === 0; ready -= 1) {
      const bind = turn % binds;
      turn += 1;
      const number = pace.written(1, bind, nowMs);
      const wire = wires[bind] as (typeof wires)[number];
      // Written just before a stall of ours, it leaves after it.
      const leavesMs = Math.max(nowMs, stalledUntil(ourStalls, nowMs + 1));
      wire.toThem = Math.max(wire.toThem, stalledUntil(lineStalls, leavesMs) + wayMs(leavesMs));
      wire.counted = stalledUntil(theirStalls, Math.max(wire.counted, wire.toThem));
      reachedMs.push(wire.counted);
      const answered = stalledUntil(theirStalls, wire.counted + answerMs(wire.counted));
      const comesMs = Math.ceil(stalledUntil(lineStalls, answered) + wayMs(answered));
      const together = answers.get(comesMs) ?? [];
      answers.set(comesMs, together);
      together.push({ number, bind, writtenAtMs: nowMs });
    }
    while (intents.length + ready < windowPdus && pace.take(1, nowMs, intents.length + ready)) {
      intents.push({ chosenMs: nowMs, durableMs: nowMs + intentMs() });
    }
  }
  reachedMs.sort((one, other) => one - other);
  let [oldest, peak, throttled] = [0, 0, 0];
  for (const [at, atMs] of reachedMs.entries()) {
    while ((reachedMs[oldest] as number) <= atMs - 1_000) oldest += 1;
    const inSecond = at + 1 - oldest;
    peak = Math.max(peak, inSecond);
    if (inSecond > tps) throttled += 1;
  }
  return { share: reachedMs.length / (tps * seconds), throttled, peak };
}

const startMs = 1e6;
const windowPdus = 1_000;

/** Overlapping or adjacent stalls are all waited for. */
function stalledUntil(stalls: readonly Stall[], atMs: number): number {
  const begun = stalls.find((stall) => atMs >= startMs + stall.atMs && atMs < startMs + stall.atMs + stall.forMs);
  return begun === undefined ? atMs : stalledUntil(stalls, startMs + begun.atMs + begun.forMs);
}

/** Milliseconds, by the median and the spread of their logarithm. */
export function lognormal(random: Random, medianMs: number, sigma: number): () => number {
  return () =>
    medianMs * Math.exp(sigma * Math.sqrt(-2 * Math.log(1 - random.unit())) * Math.cos(2 * Math.PI * random.unit()));
}
