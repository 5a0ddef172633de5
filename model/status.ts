// The statuses of a message as clients see them, and which of them are terminal. scheduled → accepted → submitted →
// delivered | undelivered | expired | rejected | unknown; besides these failed, blocked and canceled, which end a
// message that was never submitted, and received, the only state of a message that came from a subscriber.

export const messageStatuses = [
  'scheduled',
  'accepted',
  'submitted',
  'delivered',
  'undelivered',
  'expired',
  'rejected',
  'unknown',
  'failed',
  'blocked',
  'canceled',
  'received',
] as const;
export type MessageStatus = (typeof messageStatuses)[number];

const open: ReadonlySet<MessageStatus> = new Set(['scheduled', 'accepted', 'submitted']);

/** A terminal status is final, except `unknown`, which a late receipt or a late refusal may still settle. */
export function isTerminal(status: MessageStatus): boolean {
  return !open.has(status);
}

export function isMessageStatus(text: string): text is MessageStatus {
  return (messageStatuses as readonly string[]).includes(text);
}
