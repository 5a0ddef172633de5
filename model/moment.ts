// A time as clients write it: RFC 3339 with an offset, because a time without one is another moment on every machine.
// Stricter than Date.parse, which reads the 30th of February as the 2nd of March.

const form = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:[Zz]|[+-](\d{2}):(\d{2}))$/;

/** Milliseconds since the epoch; null when the text is no such time or the calendar does not have it. */
export function momentOf(text: string): number | null {
  const at = form.exec(text);
  if (at === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = at.slice(1, 7).map(Number);
  const daysInMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth) return null;
  if (hour > 23 || minute > 59 || second > 59 || Number(at[7] ?? 0) > 23 || Number(at[8] ?? 0) > 59) return null;
  const ms = Date.parse(text.toUpperCase());
  return Number.isNaN(ms) ? null : ms;
}

/** A plus in a query is a blank, and `curl` sends it as it is written: `T09:00:00+06:00` arrives as `T09:00:00 06:00`. */
export const withPlus = (inQuery: string): string => inQuery.replace(/ (?=\d{2}:\d{2}$)/, '+');

/** Why `momentOf` returned null: the calendar has no such time, or the form is wrong. */
export function whyNoMoment(text: unknown): string {
  return typeof text === 'string' && form.test(text) ? noSuchMoment : `must be ${momentShape}`;
}

export const noSuchMoment = 'there is no such moment: look at its month, day, hour and offset';
export const momentShape = 'a time with its offset, such as 2026-01-31T09:00:00+06:00 (RFC 3339)';
