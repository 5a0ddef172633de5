// Which node is to hold which bind of one carrier: pure, the same result on every node with the same input. Free binds
// go one by one to the node with the fewest; a held bind moves only while one node has two more than another. Nodes
// with different input cannot both get a bind, because claims are compare-and-set.
import { createHash } from 'node:crypto';

export type AssignableBind = {
  readonly key: string;
  /** The owner's key; null when it is free. */
  readonly holder: string | null;
  /** How long it is free. */
  readonly freeForMs: number;
};

export type AssignmentInput = {
  /** Breaks ties, so that not every carrier's odd bind goes to the same node. */
  readonly salt: string;
  readonly me: string;
  /** Nodes that can take a bind, including this one. */
  readonly candidates: readonly string[];
  readonly binds: readonly AssignableBind[];
  /** Binds of this node that are being released already. */
  readonly leaving: ReadonlySet<string>;
  /** A bind that is free for longer than this may be claimed by any node. */
  readonly graceMs: number;
};

export type Assignment = { readonly claim: readonly string[]; readonly release: readonly string[] };

const nothing: Assignment = { claim: [], release: [] };

export function assignBinds({ salt, me, candidates, binds, leaving, graceMs }: AssignmentInput): Assignment {
  if (!candidates.includes(me)) return nothing;
  const ranked = candidates
    .map((candidate) => ({
      candidate,
      rank: createHash('sha256').update(`${salt} ${candidate}`).digest('hex'),
      count: 0,
    }))
    .sort((one, other) => (one.rank < other.rank ? -1 : 1));
  for (const { holder } of binds) {
    const owner = ranked.find(({ candidate }) => candidate === holder);
    if (owner !== undefined) owner.count += 1;
  }
  const least = () => ranked.reduce((best, each) => (each.count < best.count ? each : best));
  /** Of equals the last in rank releases first, so the first keeps the odd bind. */
  const most = () => ranked.reduce((best, each) => (each.count >= best.count ? each : best));

  const claim: string[] = [];
  for (const { key, holder, freeForMs } of binds) {
    if (holder !== null) continue;
    const to = least();
    to.count += 1;
    if (to.candidate === me || freeForMs > graceMs) claim.push(key);
  }
  // A bind that is being released counts for its old owner until it is free, so that it is not released twice.
  const mine = binds.filter(({ key, holder }) => holder === me && !leaving.has(key)).map(({ key }) => key);
  let toRelease = 0;
  for (let from = most(), to = least(); from.count - to.count > 1; from = most(), to = least()) {
    from.count -= 1;
    to.count += 1;
    if (from.candidate === me) toRelease += 1;
  }
  const release = mine.slice(mine.length - Math.min(mine.length, Math.max(0, toRelease - leaving.size)));
  return { claim, release };
}

/**
 * The share of a carrier's contract of `tps` that the bind at `index` of `count` submitting binds has: whole segments
 * per second that add up to the contract exactly, so that nodes which pace to the shares of their binds never exceed it.
 */
export function shareOfBind(index: number, count: number, tps: number): number {
  // A contract of less than one a second cannot be split into whole segments: one bind has it all.
  if (tps < 1) return index === 0 ? tps : 0;
  const whole = Math.floor(tps);
  return Math.floor(((index + 1) * whole) / count) - Math.floor((index * whole) / count);
}

/** What the holders of these binds may send together, segments per second; all of them may send all of it. */
export function shareOf(held: readonly number[], count: number, tps: number): number {
  if (count > 0 && held.length === count) return tps;
  return held.reduce((sum, index) => sum + shareOfBind(index, count, tps), 0);
}
