// The request id in answers, logs and audit records. A client's own id is kept, so that its logs and ours can be
// compared; an unusual one is replaced. One rule for all entry points: a forwarded request must not get a second id.
import { newRequestId } from '../model/ids.ts';
import { limits } from '../platform/limits.ts';

export function requestIdOf(sent: string): string {
  if (sent === '' || sent.length > limits.http.requestIdCharsMax || !plain.test(sent)) return newRequestId();
  return sent;
}

/** What can do no harm in a log or header. */
const plain = /^[A-Za-z0-9._:/+=-]+$/;
