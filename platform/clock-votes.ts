// Whose clock is right: pure. Every machine knows by how much the nats-server's clock is ahead of its own; with the
// server itself as one more voter the middle of all is taken for right. Between two opinions the server's counts.

/** `offsets`: the server's clock less each machine's. Returns the server's clock less the right one. */
export function serverAheadMs(offsets: readonly number[]): number {
  const votes = [0, ...offsets].sort((one, other) => one - other);
  const middle = votes.length >> 1;
  const upper = votes[middle] ?? 0;
  if (votes.length % 2 === 1) return upper;
  const lower = votes[middle - 1] ?? 0;
  return Math.abs(lower) <= Math.abs(upper) ? lower : upper;
}
