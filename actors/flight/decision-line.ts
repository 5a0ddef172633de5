// A decision as one JSON line: the output of the command with --json, and a line in the file of a lost session. Pure.
import type { Decision } from './flight.ts';

export function decisionFields({ atMs, kind, messageId, segment, attempt, detail, times }: Decision): object {
  return {
    at: new Date(atMs).toISOString(),
    kind,
    ...(messageId !== null && { message_id: messageId, attempt, segment }),
    ...(detail !== '' && { detail }),
    ...(times > 1 && { times }),
  };
}

export function decisionLine(decision: Decision): string {
  return JSON.stringify(decisionFields(decision));
}
