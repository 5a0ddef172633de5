// Whether a record was delivered before, for the hot path: nearly every record is delivered once, and the client parses
// ten numbers to answer that.
import type { JsMsg } from '@nats-io/jetstream';

/** `$JS.ACK.<stream>.<consumer>.1.<stream seq>.<consumer seq>.<time>.<pending>`: the first delivery. */
const firstDelivery = /^\$JS\.ACK\.[^.]+\.[^.]+\.1\.\d+\.\d+\.\d+\.\d+$/;

/** The same as `record.redelivered`. */
export function isRedelivered(record: JsMsg): boolean {
  const { reply } = record as JsMsg & { readonly reply?: string };
  return reply === undefined || !firstDelivery.test(reply) ? record.redelivered : false;
}
