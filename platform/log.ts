// One JSON line per entry, on standard error; standard output is for what a command prints. Never log bodies or whole
// phone numbers: use maskNumber.
import pino, { type Logger } from 'pino';

export type Log = Logger;

/** Values of HELIOGRAPH_LOG. */
export const logLevels: readonly string[] = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
const asked = process.env['HELIOGRAPH_LOG'] || 'info';

export const log: Log = pino(
  {
    // An unknown level is refused, with an explanation, where the settings are read.
    level: logLevels.includes(asked) ? asked : 'warn',
    base: { role: process.env['HELIOGRAPH_ROLE'] ?? 'cli', pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  },
  // Synchronous: the last line before a crash is the one that matters.
  pino.destination({ dest: 2, sync: true }),
);

/** `+8801712345678` → `+88017*****78`: enough to recognise, not enough to call. */
export function maskNumber(number: string): string {
  if (number.length <= 6) return '*'.repeat(number.length);
  const head = number.slice(0, Math.min(6, number.length - 4));
  return head + '*'.repeat(number.length - head.length - 2) + number.slice(-2);
}
