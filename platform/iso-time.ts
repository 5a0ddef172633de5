// A time as clients get it: RFC 3339, UTC, with milliseconds, as `toISOString` writes it. Thousands of messages share their
// minute, whose text is kept.
const minuteMs = 60_000;

let textMinute = Number.NaN;
let minuteText = '';

/**
 * `ms`: whole milliseconds since the epoch. Throws RangeError for what is no time.
 * @example isoTime(1_700_000_000_123) // '2023-11-14T22:13:20.123Z'
 */
export function isoTime(ms: number): string {
  const minute = Math.floor(ms / minuteMs);
  if (minute !== textMinute) {
    minuteText = new Date(minute * minuteMs).toISOString().slice(0, -'00.000Z'.length);
    textMinute = minute;
  }
  const milliseconds = Math.floor(ms) - minute * minuteMs;
  const seconds = Math.floor(milliseconds / 1_000);
  return `${minuteText}${padded(seconds, 2)}.${padded(milliseconds - seconds * 1_000, 3)}Z`;
}

const padded = (value: number, digits: number): string => String(value).padStart(digits, '0');
