// Rates of a bench, counted where the messages arrive and over the time they took: a run that falls behind its offered
// rate shows the rate at which it was served.

/** Messages per second from the first to the last of these times (epoch µs, any order); NaN for fewer than two. */
export function servedPerS(timesUs: readonly number[]): number {
  if (timesUs.length < 2) return Number.NaN;
  const [first, last] = boundsOf(timesUs);
  return ((timesUs.length - 1) * 1e6) / (last - first);
}

/**
 * How long after `offeredLastUs`, when the last message should have been sent, the last one arrived. A run that keeps
 * up ends one message's latency behind; one that does not, by its backlog. NaN when nothing arrived.
 */
export function endedBehindMs(timesUs: readonly number[], offeredLastUs: number): number {
  if (timesUs.length === 0) return Number.NaN;
  return (boundsOf(timesUs)[1] - offeredLastUs) / 1_000;
}

/** A rate counts as the offered one when less than a hundredth is missing: the last message has a latency too. */
export const servedShareMin = 0.99;
/** A run that ends further behind than this has a backlog. */
export const behindMsMax = 1_000;

/** Not Math.min(...): a spread of a million arguments exceeds the stack. */
function boundsOf(timesUs: readonly number[]): [first: number, last: number] {
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const atUs of timesUs) {
    if (atUs < first) first = atUs;
    if (atUs > last) last = atUs;
  }
  return [first, last];
}
