// The mark of a message record that may not be the first of its message: whoever publishes it does not know whether an
// earlier publish arrived, and the stream may have forgotten that one's id. Whoever takes such a record asks the event
// store before it sends anything, and waits as long as that cannot tell.
import type { JsMsg } from '@nats-io/jetstream';

const againHeader = 'Heliograph-Again';

/** For a publish. */
export const asAgain: Record<string, string> = { [againHeader]: '1' };

export function isAgain(record: Pick<JsMsg, 'headers'>): boolean {
  return (record.headers?.get(againHeader) ?? '') !== '';
}
