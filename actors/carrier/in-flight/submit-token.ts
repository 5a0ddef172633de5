// An answer of the carrier, and what ties it to the segment it answers. Types alone.
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

/** What a submit_sm_resp says. */
export type SubmitAnswer = { readonly status: number; readonly carrierMessageId: string };
