// A message as it travels from the ingress to the carrier: everything a later stage may need, decided once at
// the ingress, so that no stage has to ask a database. What the client sees of it is the message's state (fold.ts).
import type { AccountId, ApiKeyId, MessageId } from './ids.ts';
import type { Shift } from './text/national-languages.ts';

export const categories = ['otp', 'transactional', 'promotional'] as const;
export type Category = (typeof categories)[number];

/** The short name of a category in subjects and stream names. */
export const laneOf = { otp: 'otp', transactional: 'txn', promotional: 'promo' } as const satisfies Record<
  Category,
  string
>;
export type Lane = (typeof laneOf)[Category];

export type Encoding = 'gsm7' | 'ucs2';

/** A text to be encoded, or octets that a client's own SMPP submit_sm already encoded. */
export type MessageBody =
  | { readonly text: string }
  | { readonly octets: Uint8Array; readonly dataCoding: number; readonly udh: Uint8Array | null };

/** Type of number and numbering plan (SMPP 3.4 sections 5.2.5 and 5.2.6); null leaves it to the carrier's rules. */
export type TonNpi = { readonly ton: number; readonly npi: number } | null;

export type Message = {
  readonly messageId: MessageId;
  /** How many carriers it was given to before this one; part of Nats-Msg-Id, so a rerouted record is no duplicate. */
  readonly hop: number;
  /** How often LATER released it on this hop. */
  readonly delays: number;
  readonly accountId: AccountId;
  readonly keyId: ApiKeyId;
  readonly channel: 'sms';
  readonly category: Category;
  readonly carrier: string;
  /** The carriers it may go to instead, in the order they are tried; each hop takes one away. */
  readonly plan: readonly string[];
  readonly sender: string;
  readonly senderTonNpi: TonNpi;
  /** E.164 with the leading plus. */
  readonly recipient: string;
  readonly recipientTonNpi: TonNpi;
  readonly body: MessageBody;
  readonly encoding: Encoding;
  /** National tables the ingress chose for a text in GSM-7: every carrier of the plan understands them. */
  readonly shift: Shift;
  readonly segments: number;
  readonly registeredDelivery: number;
  /** Wall time of the 202, milliseconds since the epoch. */
  readonly acceptedAtMs: number;
  /** When it may go out, wall time: its `send_at`, or the end of quiet hours. Null: at once. */
  readonly scheduledAtMs: number | null;
  /** After this moment it must not be submitted any more. */
  readonly validUntilMs: number;
  readonly clientReference: string | null;
  readonly campaignId: string | null;
  readonly variantId: string | null;
  readonly templateId: string | null;
  readonly livemode: boolean;
  /** Price in millionths of the account's currency, and the version of the price list; null where nothing is charged. */
  readonly priceMicros: number | null;
  readonly priceVersion: number | null;
  /** Why it goes this way: one short line per decision, for `explain` and support. */
  readonly trace: readonly string[];
  /** 1 once it was decided to send it again although nobody knows whether a carrier has it; never more. */
  readonly resends: number;
};
