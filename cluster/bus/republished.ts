// The header of a message record that may be a second one of its message: its publisher did not know whether an earlier
// publish was stored, and the stream may have forgotten the id. A carrier actor asks the event store before it sends
// such a record, and waits while that has no answer.
import type { JsMsg } from '@nats-io/jetstream';

const republishedHeader = 'Heliograph-Again';

/** The headers for a publish. */
export const asRepublished: Record<string, string> = { [republishedHeader]: '1' };

export function isAgain(record: Pick<JsMsg, 'headers'>): boolean {
  return (record.headers?.get(republishedHeader) ?? '') !== '';
}
