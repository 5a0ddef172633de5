// Checks `send_at`: a time in the past is a mistake of the client, and LATER looks for records only so far ahead. The
// time that quiet hours add must fit too. LATER keeps the message.
import { limits } from '../../platform/limits.ts';
import type { Refusal } from '../contract.ts';
import type { QuietVerdict } from './quiet-hours-gate.ts';

const dayMs = 86_400_000;
const aheadMsMax = limits.message.sendAtDaysMax * dayMs;

export function sendAtGate(sendAtMs: number | null | undefined, nowMs: number): Refusal | null {
  if (sendAtMs == null) return null;
  if (sendAtMs <= nowMs) return no(`is in the past, it is ${timeOf(nowMs)} here: leave it out to send at once`);
  if (sendAtMs - nowMs <= aheadMsMax) return null;
  return no(
    `is more than ${limits.message.sendAtDaysMax} days ahead: ${timeOf(nowMs + aheadMsMax)} is the last moment`,
  );
}

/** The hour a message waits for: the end of quiet hours, else its `send_at`, else none. */
export function dueOf(hour: QuietVerdict, sendAtMs: number | null | undefined, nowMs: number): QuietVerdict {
  if (!hour.ok) return hour;
  const notBeforeMs = hour.notBeforeMs ?? sendAtMs ?? null;
  // Nothing in sight within the days a message can wait, and the moments the request itself takes.
  if (notBeforeMs === null || notBeforeMs - nowMs <= waitMsMax) return { ok: true, notBeforeMs };
  return {
    ok: false,
    code: 'quiet_hours',
    field: 'category',
    detail: `could go out at ${new Date(notBeforeMs).toISOString()} only, later than a message may wait`,
  };
}

const timeOf = (ms: number) => new Date(ms).toISOString();
const waitMsMax = limits.bus.laterDaysMax * dayMs - 60_000;

function no(detail: string): Refusal {
  return { ok: false, code: 'invalid_field', field: 'send_at', detail };
}
