// A subscriber's decision by STOP or START, for one account: the state the suppression list should have.
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
