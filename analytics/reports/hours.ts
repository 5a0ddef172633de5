// The hours of a time zone's wall clock, as SQL over half hours. An hour is named by the moment at which it begins, so that
// one that comes twice is two. Where clocks change by half an hour (Lord Howe Island), half an hour is left over, and is
// an hour of its own that begins with the change.
import { timeZone } from '../../policy/country/time-zone.ts';
import type { ReportQuery } from './report.ts';

type HoursOf = Pick<ReportQuery, 'fromMs' | 'toMs' | 'timeZone'>;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The beginning of the hour of a `slot`. */
export function hourSql(query: HoursOf): string {
  const { timeZone: zone } = query;
  // The engine counts a day's hours from its beginning: after a change by half an hour they begin at half past until the day ends.
  if (!changesByHalf(query)) return `toStartOfHour(slot, '${zone}')`;
  const isSecondHalf = `NOT ${beginsHour('slot', zone)} AND ${offset('slot - 1800', zone)} = ${offset('slot', zone)}`;
  return `if(${isSecondHalf}, slot - 1800, slot)`;
}

/** How long the hour that begins with `k_hour` is. */
export function hourSecondsSql(query: HoursOf): string {
  const { timeZone: zone } = query;
  if (!changesByHalf(query)) return '3600';
  const isWhole = `${beginsHour('k_hour', zone)} AND ${offset('k_hour', zone)} = ${offset('k_hour + 1800', zone)}`;
  return `if(${isWhole}, 3600, 1800)`;
}

const offset = (at: string, zone: string): string => `timeZoneOffset(toTimeZone(${at}, '${zone}'))`;
const beginsHour = (at: string, zone: string): string => `(toUnixTimestamp(${at}) + ${offset(at, zone)}) % 3600 = 0`;

/** Whether the zone's clocks change by other than whole hours in this time, or shortly before on its first day. */
function changesByHalf({ fromMs, toMs, timeZone: name }: HoursOf): boolean {
  const zone = timeZone(name);
  for (let at = fromMs - dayMs; at < toMs; ) {
    const next = zone.nextChange(at, toMs);
    if ((zone.offsetAt(next) - zone.offsetAt(at)) % hourMs !== 0) return true;
    at = next;
  }
  return false;
}
