// Which rows a report reads: half hours and blocks of six hours of acceptance that together are its time, and of which each
// belongs to one group. A block serves where no border of the time or of a local day lies within it.
import { type Stretch, offsetAt } from '../../policy/country/time-zone.ts';
import { halfHourMs } from './half-hour.ts';

export const blockMs = 6 * 3_600_000;
const dayMs = 24 * 3_600_000;

/** Beginnings in seconds since the epoch, ascending. */
export type Slots = { readonly halfHours: readonly number[]; readonly blocks: readonly number[] };

/**
 * `by`: what rows are grouped by, if by time; by day with the offsets of this time in `stretches`. `fromMs` and `toMs` are on
 * whole half hours.
 */
export function slotsOf(fromMs: number, toMs: number, stretches: readonly Stretch[], by: 'hour' | 'day' | null): Slots {
  const halfHours: number[] = [];
  const blocks: number[] = [];
  const dayOf = (ms: number) => Math.floor((ms + offsetAt(stretches, ms)) / dayMs);
  for (let at = fromMs; at < toMs; ) {
    const next = (Math.floor(at / blockMs) + 1) * blockMs;
    const isWhole = at % blockMs === 0 && next <= toMs;
    if (by !== 'hour' && isWhole && (by === null || dayOf(at) === dayOf(next - 1))) {
      blocks.push(at / 1_000);
    } else {
      for (let half = at; half < Math.min(next, toMs); half += halfHourMs) halfHours.push(half / 1_000);
    }
    at = next;
  }
  return { halfHours, blocks };
}

/** Whether all offsets are whole or half hours: only then days and hours begin with a half hour. */
export const isOfHalfHours = (stretches: readonly Stretch[]): boolean =>
  stretches.every(({ offsetMs }) => offsetMs % halfHourMs === 0);
