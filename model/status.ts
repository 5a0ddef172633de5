// The statuses of a message as clients see them, and which of them are terminal. scheduled → accepted → submitted →
// delivered | undelivered | expired | rejected | unknown; besides these failed, blocked and canceled, which end a
// message that was never submitted, and received, the only state of a message that came from a subscriber.

/** By status: a message in it goes on (open), or has ended at the carriers (ended), before them (canceled) or at the entry (received). */
const table = {
  scheduled: 'open',
  accepted: 'open',
  submitted: 'open',
  delivered: 'ended',
  undelivered: 'ended',
  expired: 'ended',
  rejected: 'ended',
  unknown: 'ended',
  failed: 'ended',
  blocked: 'ended',
  canceled: 'withdrawn',
  received: 'inbound',
} as const;

export type MessageStatus = keyof typeof table;

export const messageStatuses = Object.keys(table) as MessageStatus[];

/** How a message ends that was accepted for sending. Those who accept publish `canceled`. */
export const endsOfSending = messageStatuses.filter((status) => table[status] === 'ended');

/** A terminal status is final, except `unknown`, which a late receipt or a late refusal may still settle. */
export function isTerminal(status: MessageStatus): boolean {
  return table[status] !== 'open';
}

export function isMessageStatus(text: string): text is MessageStatus {
  return Object.hasOwn(table, text);
}
