// The generic cell rate algorithm. It remembers one time, the theoretical arrival of the next request if the rate
// were kept exactly; so a rate costs eight octets, and changing a limit needs no reset. Pure: times are arguments, in
// microseconds.

/** A rate as the algorithm uses it. */
export type Pace = {
  /** One request's share of time. */
  readonly intervalUs: number;
  readonly burst: number;
};

export type RateVerdict = {
  readonly ok: boolean;
  /** What to remember; unchanged when the request is refused. */
  readonly arrivalUs: number;
  /** Requests that would still be allowed right now. */
  readonly remaining: number;
  /** Until the whole burst is there again. */
  readonly resetUs: number;
  /** Until the next request is allowed; 0 when it was. */
  readonly retryUs: number;
};

export function paceOf(count: number, perUs: number, burst: number): Pace {
  return { intervalUs: perUs / count, burst: Math.max(1, burst) };
}

/** `turns` at once, or none of them. More than a whole burst is never taken. */
export function takeTurn(pace: Pace, arrivalUs: number, nowUs: number, turns = 1): RateVerdict {
  const { intervalUs, burst } = pace;
  const spanUs = intervalUs * burst;
  // An arrival further ahead than a whole burst is one of an earlier, slower rate: it must not lock anybody out.
  const from = Math.min(Math.max(arrivalUs, nowUs), nowUs + spanUs);
  const next = from + intervalUs * turns;
  // Half an interval's thousandth: what rounding of the remembered time may take from a full burst.
  const isOk = next - nowUs <= spanUs + intervalUs / 2_000;
  const kept = isOk ? next : from;
  const resetUs = Math.max(0, kept - nowUs);
  return {
    ok: isOk,
    arrivalUs: isOk ? next : arrivalUs,
    remaining: Math.max(0, Math.floor((spanUs - resetUs) / intervalUs + 1 / 2_000)),
    resetUs,
    retryUs: isOk ? 0 : Math.max(1, Math.ceil(next - nowUs - spanUs)),
  };
}

/** What to remember after `turns` of them were used at once; beyond a whole burst there is nothing left to use. */
export function spentTurns({ intervalUs, burst }: Pace, arrivalUs: number, nowUs: number, turns: number): number {
  const endUs = nowUs + intervalUs * burst;
  return Math.min(Math.min(Math.max(arrivalUs, nowUs), endUs) + intervalUs * turns, endUs);
}
