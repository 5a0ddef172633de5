// Which clock is right. Every machine measures by how much the nats-server's clock is ahead of its own; the server
// itself votes with 0, and the median is the right time. Of two middle values the one nearer to the server's clock
// counts. Pure.

/** `offsets`: the server's clock minus each machine's, in ms. Returns the server's clock minus the right one, in ms. */
export function serverAheadMs(offsets: readonly number[]): number {
  const votes = [0, ...offsets].sort((one, other) => one - other);
  const middle = votes.length >> 1;
  const upper = votes[middle] ?? 0;
  if (votes.length % 2 === 1) return upper;
  const lower = votes[middle - 1] ?? 0;
  return Math.abs(lower) <= Math.abs(upper) ? lower : upper;
}
