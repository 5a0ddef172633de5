// Error codes of the JetStream API that callers handle. They occur only in an answer of the server: a request without
// an answer has none.
import { JetStreamApiError } from '@nats-io/jetstream';

export const consumerNotFound = 10014;
export const nameInUse = 10058;
export const streamNotFound = 10059;
/** Of a delete: there is no such record. Which of both depends on whether it ever was there. */
export const sequenceNotFound = 10043;
export const deleteFailed = 10057;
/** Compare-and-set conflict: the subject has a newer record than the one that was read. */
export const wrongLastSequence = 10071;

export function isApiError(error: unknown, code: number): boolean {
  return error instanceof JetStreamApiError && error.apiError().err_code === code;
}
