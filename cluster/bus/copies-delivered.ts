// What the carriers' actors send each other about the two copies of a hedged one-time password, over core NATS: that
// one is delivered, so that the other can be cancelled. Not durable: what is lost is a second SMS.
import { limits } from '../../platform/limits.ts';
import { broadcast } from './heartbeat.ts';
import { copiesDeliveredSubject } from './subjects.ts';

/** `hop`: of the copy that was delivered. */
export type CopyDelivered = { readonly messageId: string; readonly hop: number };

export const copiesDelivered = broadcast<CopyDelivered>(
  copiesDeliveredSubject,
  limits.heartbeats.bytesMax,
  ({ messageId, hop }) => (typeof messageId === 'string' && typeof hop === 'number' ? { messageId, hop } : null),
);
