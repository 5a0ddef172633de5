// The two time formats of SMPP (SMPP 3.4 §7.1.1), sixteen characters each: relative and absolute. Pure.

const two = (value: number) => (value < 10 ? `0${value}` : String(value));

/** Relative, `YYMMDDhhmmss000R`: whole seconds, at least one, never rounded up. */
export function relativeTime(leftMs: number): string {
  const seconds = Math.max(1, Math.floor(leftMs / 1_000));
  // Months have no agreed length, so they are not used; two digits hold 99 days.
  const days = Math.min(99, Math.floor(seconds / 86_400));
  const clock = `${two(Math.floor(seconds / 3_600) % 24)}${two(Math.floor(seconds / 60) % 60)}${two(seconds % 60)}`;
  return `0000${two(days)}${clock}000R`;
}

/** Absolute, `YYMMDDhhmmsst00+`, in UTC, to the tenth of a second, never rounded up. */
export function absoluteTime(atMs: number): string {
  const text = new Date(atMs).toISOString().replace(/[-T:.]/g, '');
  return `${text.slice(2, 14)}${text.slice(14, 15)}00+`;
}

/** The wall time of either format, relative ones from `nowMs`; undefined for other texts. */
export function readTime(text: string, nowMs: number): number | undefined {
  const match = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d)(\d\d)([+\-R])$/.exec(text);
  if (!match) return undefined;
  const fields = match.slice(1, 9).map(Number);
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, tenths = 0, quarters = 0] = fields;
  if (hour > 23 || minute > 59 || second > 59 || quarters > 48) return undefined;
  if (match[9] === 'R') {
    const days = year * 365 + month * 30 + day;
    return nowMs + (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000;
  }
  if (month < 1 || month > 12 || day < 1 || day > 31) return undefined;
  const utc = Date.UTC(2_000 + year, month - 1, day, hour, minute, second, tenths * 100);
  return utc - (match[9] === '+' ? 1 : -1) * quarters * 15 * 60_000;
}
