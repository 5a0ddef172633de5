// How much of a carrier's contract each of its binds has: whole segments per second that add up to the contract
// exactly, so that nodes which pace to the shares of their binds never exceed it together.

/** Segments per second of the bind at `index` of `count` submitting ones, of a contract of `tps` over all of them. */
export function shareOfBind(index: number, count: number, tps: number): number {
  // A contract of less than one a second cannot be split into whole segments: one bind has it all.
  if (tps < 1) return index === 0 ? tps : 0;
  const whole = Math.floor(tps);
  return Math.floor(((index + 1) * whole) / count) - Math.floor((index * whole) / count);
}

/** What those who hold the binds at these places may send together; all of them may send all of it. */
export function shareOf(held: readonly number[], count: number, tps: number): number {
  if (count > 0 && held.length === count) return tps;
  return held.reduce((sum, index) => sum + shareOfBind(index, count, tps), 0);
}
