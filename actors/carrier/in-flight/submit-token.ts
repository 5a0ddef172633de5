// What ties an answer of the carrier to the segment it answers.
import type { InFlightMessage } from './in-flight-message.ts';

/** What a response is matched with: the session gives it back with the answer. */
export type SubmitToken = {
  readonly inFlight: InFlightMessage;
  readonly segment: number;
  readonly attempt: number;
  /** When it was written, monotonic. */
  readonly writtenAtMs: number;
  /** The port it was written to, and the number pacing knows it by. */
  readonly bind: number;
  number: number;
};
