// Rates of a bench, counted where the messages arrive and over the time they took: a run that is served more slowly
// than it was offered shows the rate it was served at, never the one it was offered.

/** Messages per second from the first to the last of these times (epoch µs, any order); NaN for fewer than two. */
export function servedPerS(timesUs: readonly number[]): number {
  if (timesUs.length < 2) return Number.NaN;
  const [first, last] = boundsOf(timesUs);
  return ((timesUs.length - 1) * 1e6) / (last - first);
}

/**
 * How long after `offeredLastUs`, when the last message should have been sent, the last one came. What keeps up ends
 * behind by one message's latency; what does not ends behind by its backlog. NaN when nothing came.
 */
export function endedBehindMs(timesUs: readonly number[], offeredLastUs: number): number {
  if (timesUs.length === 0) return Number.NaN;
  return (boundsOf(timesUs)[1] - offeredLastUs) / 1_000;
}

/** A rate is taken for the offered one when less than a hundredth is missing: the last message has a latency too. */
export const servedShareMin = 0.99;
/** A run that ends further behind than this has a backlog. */
export const behindMsMax = 1_000;

/** Not Math.min(...): a spread of a million arguments is more than the stack takes. */
function boundsOf(timesUs: readonly number[]): [first: number, last: number] {
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const atUs of timesUs) {
    if (atUs < first) first = atUs;
    if (atUs > last) last = atUs;
  }
  return [first, last];
}
