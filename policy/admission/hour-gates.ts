// The gates about when a message may be sent: the quiet hours of its category, and its `send_at`. In quiet hours it is
// held until they end, unless the request asks to be refused. The gates only return the time.
import type { Category } from '../../model/message.ts';
import type { Refusal } from '../contract.ts';
import type { QuietHours } from '../country/quiet-hours.ts';
import { limits } from '../../platform/limits.ts';

/** Until when it is held; null: it may be sent at once. */
export type HoldVerdict = { readonly ok: true; readonly untilMs: number | null } | Refusal;

/** `atMs`: when the message would be sent without this gate. */
export function quietHoursGate(
  quiet: QuietHours,
  request: { readonly category: Category; readonly quietHours: 'hold' | 'reject' },
  atMs: number,
  nowMs: number,
): HoldVerdict {
  const untilMs = quiet.quietUntil(request.category, atMs);
  if (untilMs === null) return { ok: true, untilMs };
  if (untilMs === Number.POSITIVE_INFINITY) {
    return inQuietHours('category', `is ${request.category}: such messages may not be sent within the next weeks`);
  }
  if (request.quietHours === 'reject') {
    return inQuietHours(
      'quiet_hours',
      `is reject, and ${request.category} messages may be sent again from ${timeOf(untilMs)}: send it then, or leave quiet_hours out, and it is held until then`,
    );
  }
  if (untilMs - nowMs <= waitMsMax) return { ok: true, untilMs };
  return inQuietHours(
    'category',
    `is ${request.category}: the message could go out at ${timeOf(untilMs)} only, later than a message may wait`,
  );
}

function inQuietHours(field: 'category' | 'quiet_hours', detail: string): Refusal {
  return { ok: false, code: 'quiet_hours', field, detail };
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

const timeOf = (ms: number) => new Date(ms).toISOString();
const waitMsMax = limits.bus.laterDaysMax * dayMs - 60_000;

function wrongTime(detail: string): Refusal {
  return { ok: false, code: 'invalid_field', field: 'send_at', detail };
}
