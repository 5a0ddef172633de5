// The mark of a message record that may not be the first of its message: whoever publishes it does not know whether an
// earlier publish arrived, and the stream may have forgotten that one's id. Whoever takes such a record asks the event
// store before it sends anything, and waits as long as that does not know.
import type { JsMsg } from '@nats-io/jetstream';

const republishedHeader = 'Heliograph-Again';

/** For a publish. */
export const asRepublished: Record<string, string> = { [republishedHeader]: '1' };

export function isAgain(record: Pick<JsMsg, 'headers'>): boolean {
  return (record.headers?.get(republishedHeader) ?? '') !== '';
}
