// The hours and days of a time zone's wall clock, as SQL over half hours. Offsets and the few moments at which they change are
// in it as numbers and no zone by its name (docs/decisions/0265): ClickHouse would keep a table of that zone for ever, and by
// rules of another year than those by which `from` and `to` were read.
import { type Stretch, stretchesBetween, timeZone } from '../../policy/country/time-zone.ts';
import type { ReportQuery } from './report.ts';

const hourS = 3_600;
const dayS = 24 * hourS;

/** The offsets of a report's time, and of the day before it: its first hour and day may begin there. */
export const stretchesOf = ({ timeZone: name, fromMs, toMs }: ReportQuery): readonly Stretch[] =>
  stretchesBetween(timeZone(name), fromMs - dayS * 1_000, toMs);

/** The day of a `slot`. */
export const daySql = (stretches: readonly Stretch[]): string => `toDate(slot${plusOffset('slot', stretches)}, 'UTC')`;

/** Where `k_day` and the day after it begin, in seconds since the epoch. */
export function dayBordersSql(stretches: readonly Stretch[]): { readonly begin: string; readonly end: string } {
  const steps = midnightsOf(stretches);
  const begins = (day: string) => `${day} * ${dayS} - ${stepsSql(day, steps)}`;
  return { begin: begins('toUInt32(k_day)'), end: begins('(toUInt32(k_day) + 1)') };
}

/**
 * The beginning of the hour of a `slot`. It is a moment, so that an hour that comes twice is two. An hour ends where a clock
 * changes within it: by half an hour on Lord Howe Island, what is left over is an hour of its own that begins with the change.
 */
export function hourSql(stretches: readonly Stretch[]): string {
  const past = plusOffset('slot', stretches.map(ofHour));
  const begin = past === '' ? "toStartOfHour(slot, 'UTC')" : `toStartOfHour(slot${past}, 'UTC') - (0${past})`;
  const cuts = cutsOf(stretches);
  return cuts.length === 0 ? begin : `greatest(${begin}, toDateTime(${stepsSql('slot', [never, ...cuts])}, 'UTC'))`;
}

/** Where the hour that begins with `k_hour` begins and ends, in seconds since the epoch. */
export function hourBordersSql(stretches: readonly Stretch[]): { readonly begin: string; readonly end: string } {
  const begin = 'toUnixTimestamp(k_hour)';
  const cuts = cutsOf(stretches);
  if (cuts.length === 0) return { begin, end: `${begin} + ${hourS}` };
  const whole = `${begin} + ${hourS} - (${begin}${plusOffset('k_hour', stretches.map(ofHour))}) % ${hourS}`;
  const nextCuts = [never, ...cuts].map(({ from }, at) => ({ from, value: cuts[at]?.value ?? endOfTime }));
  return { begin, end: `least(${whole}, ${stepsSql('k_hour', nextCuts)})` };
}

/** `2026-01-31T09:00:00+05:30` of `k_hour`. */
export function shownHourSql(stretches: readonly Stretch[]): string {
  const names = stretches.map(({ fromMs, offsetMs }) => ({ from: fromMs / 1_000, value: `'${offsetName(offsetMs)}'` }));
  const clock = `formatDateTime(k_hour${plusOffset('k_hour', stretches)}, '%FT%T', 'UTC')`;
  return `concat(${clock}, ${stepsSql('k_hour', names)})`;
}

function offsetName(offsetMs: number): string {
  const minutes = Math.abs(offsetMs) / 60_000;
  const two = (number: number) => String(number).padStart(2, '0');
  return `${offsetMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** From this number on it is this value, as SQL. */
type Step = { readonly from: number; readonly value: number | string };
const never: Step = { from: 0, value: 0 };
const endOfTime = 0xffff_ffff;

/** The value of the last step that begins at or before `of`; the first is of all before it, too. */
function stepsSql(of: string, steps: readonly Step[]): string {
  const distinct = steps.filter(({ value }, at) => value !== steps[at - 1]?.value);
  const cases = distinct.slice(0, -1).map(({ value }, at) => `${of} < ${distinct[at + 1]?.from}, ${value}`);
  const last = String(distinct.at(-1)?.value);
  return cases.length === 0 ? last : `multiIf(${cases.join(', ')}, ${last})`;
}

/** Adds the offset in seconds at `of`; '' where it is 0. As sums, which cost a row of the counts less than branches. */
function plusOffset(of: string, stretches: readonly Stretch[]): string {
  let before = 0;
  const terms = stretches.map(({ fromMs, offsetMs }, at) => {
    const more = offsetMs / 1_000 - before;
    before += more;
    if (more === 0) return '';
    const sign = more < 0 ? ' - ' : ' + ';
    return at === 0 ? `${sign}${Math.abs(more)}` : `${sign}(${of} >= ${fromMs / 1_000}) * ${Math.abs(more)}`;
  });
  return terms.join('');
}

/** As if its offset were only what hours begin after those of UTC. */
const ofHour = (stretch: Stretch): Stretch => {
  const hourMs = hourS * 1_000;
  return { ...stretch, offsetMs: ((stretch.offsetMs % hourMs) + hourMs) % hourMs };
};

/** The changes that are within an hour of the wall clock, before or after them. */
function cutsOf(stretches: readonly Stretch[]): readonly Step[] {
  return stretches.flatMap(({ fromMs, offsetMs }, at) => {
    const before = stretches[at - 1]?.offsetMs;
    if (before === undefined) return [];
    const isWhole = [before, offsetMs].every((each) => ((fromMs + each) / 1_000) % hourS === 0);
    return isWhole ? [] : [{ from: fromMs / 1_000, value: fromMs / 1_000 }];
  });
}

/**
 * By the number of a day, how many seconds before its midnight at UTC it begins: the offset then, unless a clock that goes
 * forward leaves out its midnight.
 */
function midnightsOf(stretches: readonly Stretch[]): readonly Step[] {
  const steps: Step[] = [];
  let day = Math.floor(((stretches[0]?.fromMs ?? 0) + (stretches[0]?.offsetMs ?? 0)) / 1_000 / dayS);
  for (const [at, { fromMs, untilMs, offsetMs }] of stretches.entries()) {
    for (; day * dayS * 1_000 - offsetMs < untilMs; day += 1) {
      const begin = day * dayS - offsetMs / 1_000;
      const isLeftOut = at > 0 && begin < fromMs / 1_000;
      steps.push({ from: day, value: day * dayS - (isLeftOut ? fromMs / 1_000 : begin) });
    }
  }
  return steps;
}
