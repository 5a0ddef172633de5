// What matches a carrier's answer to its segment. Types only.
import type { InFlightMessage } from './in-flight-message.ts';

/** The session returns it with the answer. */
export type SubmitToken = {
  readonly inFlight: InFlightMessage;
  readonly segment: number;
  readonly attempt: number;
  /** Monotonic. */
  readonly writtenAtMs: number;
  /** The port it was written to, and its number for pacing. */
  readonly bind: number;
  number: number;
};
