// What a subscriber asked for with STOP or START, for one account: what the suppression list is to become.
import type { AccountId } from './ids.ts';

export type SubscriberDecision = {
  readonly keyword: 'stop' | 'start';
  readonly accountId: AccountId;
  /** E.164. */
  readonly number: string;
  /** Null: all senders of the account. */
  readonly sender: string | null;
  readonly atMs: number;
  readonly messageId: string;
};
