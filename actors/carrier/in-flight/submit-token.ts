// A carrier's answer, and what matches it to its segment. Types only.
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

/** The content of a submit_sm_resp (SMPP 3.4, 4.4.2). */
export type SubmitAnswer = { readonly status: number; readonly carrierMessageId: string };
