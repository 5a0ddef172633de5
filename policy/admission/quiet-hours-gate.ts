// Checks the quiet hours of the category. A message in quiet hours is held until they end, unless the request asks to
// be refused. The gate returns the time; LATER keeps the message.
import type { Category } from '../../model/message.ts';
import type { Refusal } from '../contract.ts';
import type { QuietHours } from '../country/quiet-hours.ts';

export type QuietVerdict = { readonly ok: true; readonly notBeforeMs: number | null } | Refusal;

/** `atMs`: when the message would go out, which is `send_at` when it has one. */
export function quietHoursGate(
  quiet: QuietHours,
  request: { readonly category: Category; readonly quietHours: 'hold' | 'reject' },
  atMs: number,
): QuietVerdict {
  const untilMs = quiet.quietUntil(request.category, atMs);
  if (untilMs === null) return mayGo;
  if (untilMs === Number.POSITIVE_INFINITY) {
    return no(`is ${request.category}: such messages may not be sent within the next weeks`);
  }
  if (request.quietHours === 'hold') return { ok: true, notBeforeMs: untilMs };
  return no(
    `is ${request.category}: such messages may be sent again from ${new Date(untilMs).toISOString()}; send it then, or leave quiet_hours out and it is held until then`,
  );
}

const mayGo: QuietVerdict = { ok: true, notBeforeMs: null };

function no(detail: string): Refusal {
  return { ok: false, code: 'quiet_hours', field: 'category', detail };
}
