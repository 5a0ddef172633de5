// Error codes of the JetStream API that a caller handles in a special way. Only an answer of the server counts; a
// request without an answer is no such error.
import { JetStreamApiError } from '@nats-io/jetstream';

export const consumerNotFound = 10014;
export const nameInUse = 10058;
export const streamNotFound = 10059;
/** A compare-and-set was lost: another process has written since the revision that was read. */
export const wrongLastSequence = 10071;

export function isApiError(error: unknown, code: number): boolean {
  return error instanceof JetStreamApiError && error.apiError().err_code === code;
}
