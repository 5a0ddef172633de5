// Until when a category is in quiet hours, by the country's rules. Pure: a time is quiet when the wall clock of the
// rule's time zone is in one of its windows, so clock changes need no special case. The returned time is never quiet
// itself.
import { type Category, byCategory } from '../../model/message.ts';
import type { QuietRule } from './contract.ts';
import { type TimeZone, timeZone } from './time-zone.ts';

export type QuietHours = {
  /**
   * Null: it may be sent now. Else the first moment at which it may, or Infinity when the rules leave none within the
   * 36 days a message can wait. Under a microsecond: the result is cached for the minute.
   */
  quietUntil(category: Category, atMs: number): number | null;
};

const dayMs = 86_400_000;
const minuteMs = 60_000;
const minutesPerDay = 1_440;
/** Longer than LATER keeps a record. */
const searchDaysMax = 36;

export function quietHours(rules: readonly QuietRule[]): QuietHours {
  const compiled = rules.map(compile);
  const keptOf = (category: Category): Kept => {
    return { rules: compiled.filter((rule) => rule.categories.includes(category)), minute: -1, until: null };
  };
  const kept = byCategory(keptOf);
  return {
    quietUntil(category, atMs) {
      const entry = kept[category];
      if (entry.rules.length === 0) return null;
      // All windows begin and end at whole minutes: one result holds for the minute.
      const minute = Math.floor(atMs / minuteMs);
      if (minute !== entry.minute) {
        entry.until = search(entry.rules, minute * minuteMs);
        entry.minute = minute;
      }
      return entry.until;
    },
  };
}

type Kept = { readonly rules: readonly Compiled[]; minute: number; until: number | null };

/** A window within one local day. */
type Piece = {
  readonly days: number;
  readonly dates: ReadonlySet<number> | null;
  readonly start: number;
  readonly end: number;
};
type Compiled = {
  readonly categories: readonly Category[];
  readonly zone: TimeZone;
  readonly fromDay: number;
  readonly untilDay: number;
  readonly pieces: readonly Piece[];
};

function search(rules: readonly Compiled[], atMs: number): number | null {
  const giveUpMs = atMs + searchDaysMax * dayMs;
  let openMs = atMs;
  for (;;) {
    const next = rules.reduce((latest, rule) => Math.max(latest, endOfQuiet(rule, openMs)), openMs);
    if (next === openMs) return openMs === atMs ? null : openMs;
    if (next > giveUpMs) return Number.POSITIVE_INFINITY;
    openMs = next;
  }
}

/** The end of the window that contains the wall clock; the moment itself when none does. */
function endOfQuiet(rule: Compiled, atMs: number): number {
  const wallMs = atMs + rule.zone.offsetAt(atMs);
  const day = Math.floor(wallMs / dayMs);
  if (day < rule.fromDay || day >= rule.untilDay) return atMs;
  const minute = Math.floor((wallMs - day * dayMs) / minuteMs);
  const weekday = 1 << weekdayOf(day);
  let end = -1;
  for (const piece of rule.pieces) {
    const today = piece.dates === null ? (piece.days & weekday) !== 0 : piece.dates.has(day);
    if (today && minute >= piece.start && minute < piece.end) end = Math.max(end, piece.end);
  }
  return end === -1 ? atMs : whenWallShows(rule.zone, atMs, day * dayMs + end * minuteMs);
}

/** The first moment after `atMs` at which the wall clock shows `wallMs` or has skipped it. */
function whenWallShows(zone: TimeZone, atMs: number, wallMs: number): number {
  const plainMs = wallMs - zone.offsetAt(atMs);
  const changeMs = zone.nextChange(atMs, plainMs);
  if (changeMs >= plainMs) return plainMs;
  // A clock put forward may skip the end; put back, it reaches the end later.
  return Math.max(changeMs, wallMs - zone.offsetAt(changeMs));
}

function compile(rule: QuietRule): Compiled {
  const dates = rule.dates.length === 0 ? null : rule.dates.map(dayOf);
  const daysMask = (shift: number) => rule.days.reduce((mask, day) => mask | (1 << ((day + shift) % 7)), 0);
  const on = (shift: number) => ({
    days: daysMask(shift),
    dates: dates === null ? null : new Set(dates.map((day) => day + shift)),
  });
  return {
    categories: rule.categories,
    zone: timeZone(rule.timeZone),
    fromDay: rule.from === null ? Number.NEGATIVE_INFINITY : dayOf(rule.from),
    untilDay: rule.until === null ? Number.POSITIVE_INFINITY : dayOf(rule.until),
    pieces: rule.closed.flatMap(({ startMinute, endMinute }): Piece[] => {
      if (startMinute < endMinute) return [{ ...on(0), start: startMinute, end: endMinute }];
      const evening = { ...on(0), start: startMinute, end: minutesPerDay };
      return endMinute === 0 ? [evening] : [evening, { ...on(1), start: 0, end: endMinute }];
    }),
  };
}

/** Days since 1970-01-01, which was a Thursday. */
function dayOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / dayMs;
}

function weekdayOf(day: number): number {
  return (((day + 4) % 7) + 7) % 7;
}
