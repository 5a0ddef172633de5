// The offset of a time zone's wall clock from UTC. Intl costs microseconds per call; here it is called once per day,
// and a day with a clock change is split at that minute. It never uses the machine's own time zone.
import { assert } from '../../platform/assert.ts';

export type TimeZone = {
  /** Milliseconds to add to UTC; called for almost every message. */
  offsetAt(atMs: number): number;
  /** The first moment at which the offset differs from the one at `atMs`, or `beforeMs` when there is none before it. */
  nextChange(atMs: number, beforeMs: number): number;
};

/** A time in which the offset stays the same; `untilMs` is exclusive. */
export type Stretch = { readonly fromMs: number; readonly untilMs: number; readonly offsetMs: number };

const dayMs = 86_400_000;
const minuteMs = 60_000;
/** Days cached per zone: the present and the next five weeks are queried. */
const daysMax = 64;

/** Throws RangeError for a name Intl does not know. */
export function timeZone(name: string): TimeZone {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const days = new Map<number, readonly Stretch[]>();
  let last: Stretch = { fromMs: 0, untilMs: 0, offsetMs: 0 };

  function stretchAt(atMs: number): Stretch {
    if (atMs >= last.fromMs && atMs < last.untilMs) return last;
    const day = Math.floor(atMs / dayMs);
    let stretches = days.get(day);
    if (stretches === undefined) {
      stretches = stretchesOf(format, day * dayMs);
      if (days.size >= daysMax) days.clear();
      days.set(day, stretches);
    }
    last = stretches.find((each) => atMs < each.untilMs) ?? (stretches.at(-1) as Stretch);
    return last;
  }

  return {
    offsetAt: (atMs) => stretchAt(atMs).offsetMs,
    nextChange(atMs, beforeMs) {
      const { offsetMs } = stretchAt(atMs);
      let lookMs = stretchAt(atMs).untilMs;
      while (lookMs < beforeMs) {
        const stretch = stretchAt(lookMs);
        if (stretch.offsetMs !== offsetMs) return lookMs;
        lookMs = stretch.untilMs;
      }
      return beforeMs;
    },
  };
}

/** The stretches that together are this time, in order: each two that follow each other have different offsets. */
export function stretchesBetween(zone: TimeZone, fromMs: number, untilMs: number): readonly Stretch[] {
  const stretches: Stretch[] = [];
  for (let at = fromMs; at < untilMs; ) {
    const next = zone.nextChange(at, untilMs);
    stretches.push({ fromMs: at, untilMs: next, offsetMs: zone.offsetAt(at) });
    at = next;
  }
  return stretches;
}

/** At a time that they have. */
export function offsetAt(stretches: readonly Stretch[], atMs: number): number {
  const found = stretches.find(({ untilMs }) => atMs < untilMs);
  assert(found !== undefined && atMs >= (stretches[0] as Stretch).fromMs, 'a time for which offsets were read');
  return found.offsetMs;
}

function stretchesOf(format: Intl.DateTimeFormat, startMs: number): readonly Stretch[] {
  const endMs = startMs + dayMs;
  const before = offsetOf(format, startMs);
  const after = offsetOf(format, endMs);
  if (before === after) return [{ fromMs: startMs, untilMs: endMs, offsetMs: before }];
  // Clocks change at whole minutes, and at most once in a day.
  let low = startMs / minuteMs;
  let high = endMs / minuteMs;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetOf(format, middle * minuteMs) === before) low = middle;
    else high = middle;
  }
  const changeMs = high * minuteMs;
  const first = { fromMs: startMs, untilMs: changeMs, offsetMs: before };
  return changeMs === endMs ? [first] : [first, { fromMs: changeMs, untilMs: endMs, offsetMs: after }];
}

function offsetOf(format: Intl.DateTimeFormat, atMs: number): number {
  const part: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(atMs)) part[type] = Number(value);
  const wall = Date.UTC(
    part['year'] ?? 0,
    (part['month'] ?? 1) - 1,
    part['day'] ?? 1,
    part['hour'] ?? 0,
    part['minute'] ?? 0,
    part['second'] ?? 0,
  );
  return wall - Math.floor(atMs / 1_000) * 1_000;
}
