// The gates that are asked again at the last moment, when a token is granted: a message can wait longer than
// the rules that let it in. Pure: everything it needs is handed to it.
import type { Message } from '../../model/message.ts';

export type LateVerdict =
  | { readonly ok: true }
  /** The message ends here with this status and error code. */
  | { readonly ok: false; readonly status: 'expired'; readonly code: 'validity_passed' };

const mayGo: LateVerdict = { ok: true };

export function passLateGates(message: Message, nowMs: number): LateVerdict {
  if (nowMs >= message.validUntilMs) return { ok: false, status: 'expired', code: 'validity_passed' };
  return mayGo;
}
