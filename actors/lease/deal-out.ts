// Which node is to hold which bind of one carrier: pure, the same answer on every node that sees the same. Free binds
// go one by one to whoever has the fewest; what is held moves only while one node has two more than another. It
// says what should be; that two nodes who see different things cannot both have a bind is the compare-and-set's part.
import { createHash } from 'node:crypto';

export type DealtBind = {
  readonly key: string;
  /** The owner's key; null when it is free. */
  readonly holder: string | null;
  /** How long it is free. */
  readonly freeForMs: number;
};

export type DealInput = {
  /** What ties are broken by: not every carrier's odd bind goes to the same node. */
  readonly salt: string;
  readonly me: string;
  /** Nodes that can take one, myself among them. */
  readonly takers: readonly string[];
  readonly binds: readonly DealtBind[];
  /** Of mine, those I am giving up already. */
  readonly leaving: ReadonlySet<string>;
  /** Free for longer than this and anybody may have it. */
  readonly graceMs: number;
};

export type Deal = { readonly claim: readonly string[]; readonly release: readonly string[] };

const nothing: Deal = { claim: [], release: [] };

export function dealOutBinds({ salt, me, takers, binds, leaving, graceMs }: DealInput): Deal {
  if (!takers.includes(me)) return nothing;
  const ranked = takers
    .map((taker) => ({ taker, rank: createHash('sha256').update(`${salt} ${taker}`).digest('hex'), count: 0 }))
    .sort((one, other) => (one.rank < other.rank ? -1 : 1));
  for (const { holder } of binds) {
    const owner = ranked.find(({ taker }) => taker === holder);
    if (owner !== undefined) owner.count += 1;
  }
  const least = () => ranked.reduce((best, each) => (each.count < best.count ? each : best));
  /** Of equals the last in rank gives first: the first keeps the odd one. */
  const most = () => ranked.reduce((best, each) => (each.count >= best.count ? each : best));

  const claim: string[] = [];
  for (const { key, holder, freeForMs } of binds) {
    if (holder !== null) continue;
    const to = least();
    to.count += 1;
    if (to.taker === me || freeForMs > graceMs) claim.push(key);
  }
  // What is being given up counts for its old owner until it is free: it must not be given up twice.
  const mine = binds.filter(({ key, holder }) => holder === me && !leaving.has(key)).map(({ key }) => key);
  let toGive = 0;
  for (let from = most(), to = least(); from.count - to.count > 1; from = most(), to = least()) {
    from.count -= 1;
    to.count += 1;
    if (from.taker === me) toGive += 1;
  }
  const release = mine.slice(mine.length - Math.min(mine.length, Math.max(0, toGive - leaving.size)));
  return { claim, release };
}
