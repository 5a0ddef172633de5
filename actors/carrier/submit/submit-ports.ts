// A carrier's binds as the sender sees them: their windows, and which one writes the next submit.
import type { ShortMessage } from '../../../smpp/pdu.ts';
import type { SubmitToken } from '../in-flight/submit-token.ts';

export type SubmitPort = {
  /** How many submits may be outstanding; 0 when it is not bound. */
  readonly window: number;
  /** How many submits it would accept now; 0 when it is not bound or its socket is full. */
  readonly windowFree: number;
  submit(pdu: ShortMessage, token: SubmitToken): boolean;
};

/** Of the present binds: a long message waits for as much as they hold, not for a bind that is down. */
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

/** The index of the port with the most free slots; -1 when none has any. */
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
