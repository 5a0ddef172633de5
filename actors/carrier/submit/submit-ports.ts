// A carrier's binds as the sender sees them: how many submits they may have out, and which takes the next.
import type { ShortMessage } from '../../../smpp/pdu.ts';
import type { SubmitToken } from '../in-flight/submit-token.ts';

/** One bind as the sender sees it. */
export type SubmitPort = {
  /** Submits it may have out at once; 0 when it is not bound. */
  readonly window: number;
  /** Submits it would take now; 0 when it is not bound or its socket is full. */
  readonly windowFree: number;
  submit(pdu: ShortMessage, token: SubmitToken): boolean;
};

/** Of the binds there are now: a long message waits for as much as they hold, not for a bind that is away. */
export function windowsBound(ports: readonly SubmitPort[]): number {
  let windows = 0;
  for (const port of ports) windows += port.window;
  return windows;
}

export function windowFree(ports: readonly SubmitPort[]): number {
  let free = 0;
  for (const port of ports) free += port.windowFree;
  return free;
}

/** The index of the port with the most room; -1 when none has any. */
export function widestPort(ports: readonly SubmitPort[]): number {
  let widest = -1;
  let free = 0;
  for (let bind = 0; bind < ports.length; bind += 1) {
    const { windowFree: room } = ports[bind] as SubmitPort;
    if (room <= free) continue;
    widest = bind;
    free = room;
  }
  return widest;
}
