// The gates about when a message may be sent: the quiet hours of its category, and its `send_at`. In quiet hours it is
// held until they end, unless the request asks to be refused. The gates only return the time.
import type { Category } from '../../model/message.ts';
import type { Refusal } from '../contract.ts';
import type { QuietHours } from '../country/quiet-hours.ts';
import { limits } from '../../platform/limits.ts';

export type QuietVerdict = { readonly ok: true; readonly notBeforeMs: number | null } | Refusal;

/** `atMs`: when the message would be sent; its `send_at` when it has one. */
export function quietHoursGate(
  quiet: QuietHours,
  request: { readonly category: Category; readonly quietHours: 'hold' | 'reject' },
  atMs: number,
): QuietVerdict {
  const untilMs = quiet.quietUntil(request.category, atMs);
  if (untilMs === null) return mayGo;
  if (untilMs === Number.POSITIVE_INFINITY) {
    return inQuietHours(`is ${request.category}: such messages may not be sent within the next weeks`);
  }
  if (request.quietHours === 'hold') return { ok: true, notBeforeMs: untilMs };
  return inQuietHours(
    `is ${request.category}: such messages may be sent again from ${new Date(untilMs).toISOString()}; send it then, or leave quiet_hours out and it is held until then`,
  );
}

const mayGo: QuietVerdict = { ok: true, notBeforeMs: null };

function inQuietHours(detail: string): Refusal {
  return { ok: false, code: 'quiet_hours', field: 'category', detail };
}

const dayMs = 86_400_000;
const aheadMsMax = limits.message.sendAtDaysMax * dayMs;

/** A past time is a client's mistake, and the streams keep records for a bounded number of days. */
export function sendAtGate(sendAtMs: number | null | undefined, nowMs: number): Refusal | null {
  if (sendAtMs == null) return null;
  if (sendAtMs <= nowMs) return wrongTime(`is in the past, it is ${timeOf(nowMs)} here: leave it out to send at once`);
  if (sendAtMs - nowMs <= aheadMsMax) return null;
  return wrongTime(
    `is more than ${limits.message.sendAtDaysMax} days ahead: ${timeOf(nowMs + aheadMsMax)} is the last moment`,
  );
}

/** The time a message waits for: the end of quiet hours, else its `send_at`, else none. */
export function dueOf(hour: QuietVerdict, sendAtMs: number | null | undefined, nowMs: number): QuietVerdict {
  if (!hour.ok) return hour;
  const notBeforeMs = hour.notBeforeMs ?? sendAtMs ?? null;
  // Never within the days a message can wait, or only within the time the request itself takes.
  if (notBeforeMs === null || notBeforeMs - nowMs <= waitMsMax) return { ok: true, notBeforeMs };
  return inQuietHours(`could go out at ${timeOf(notBeforeMs)} only, later than a message may wait`);
}

const timeOf = (ms: number) => new Date(ms).toISOString();
const waitMsMax = limits.bus.laterDaysMax * dayMs - 60_000;

function wrongTime(detail: string): Refusal {
  return { ok: false, code: 'invalid_field', field: 'send_at', detail };
}
