// A message as it passes from the ingress to the carrier: the ingress decides everything that a later stage needs, so
// that no stage queries a database. Clients see the message's state instead (fold.ts).
import type { AccountId, MessageId, PrincipalId, WebhookEndpointId } from './ids.ts';
import type { Shift } from './text/national-languages.ts';

export const categories = ['otp', 'transactional', 'promotional'] as const;
export type Category = (typeof categories)[number];

/** The lane of a category: its short name in subjects and stream names. */
export const laneOf = { otp: 'otp', transactional: 'txn', promotional: 'promo' } as const satisfies Record<
  Category,
  string
>;
export type Lane = (typeof laneOf)[Category];

/** One value for each category. */
export function byCategory<T>(valueOf: (category: Category) => T): Readonly<Record<Category, T>> {
  return { otp: valueOf('otp'), transactional: valueOf('transactional'), promotional: valueOf('promotional') };
}

export const hedges = ['may', 'control', 'copy'] as const;
export type Hedge = (typeof hedges)[number];

export type Encoding = 'gsm7' | 'ucs2';

/** A text to encode, or octets already encoded by the client's own SMPP submit_sm. */
export type MessageBody =
  | { readonly text: string }
  | { readonly octets: Uint8Array; readonly dataCoding: number; readonly udh: Uint8Array | null };

/** Type of number and numbering plan (SMPP 3.4 sections 5.2.5 and 5.2.6); null leaves it to the carrier's rules. */
export type TonNpi = { readonly ton: number; readonly npi: number } | null;

/**
 * Where the events of one message go: to `url` instead of that endpoint's own URL, whatever it subscribes to, signed with
 * its secret. The account's other endpoints get them as always.
 */
export type MessageCallback = { readonly endpointId: WebhookEndpointId; readonly url: string };

export type Message = {
  readonly messageId: MessageId;
  /** Number of carriers it was given to before; part of Nats-Msg-Id, so that a rerouted record is no duplicate. */
  readonly hop: number;
  /** Number of releases from LATER on this hop. */
  readonly delays: number;
  readonly accountId: AccountId;
  readonly keyId: PrincipalId;
  readonly channel: 'sms';
  readonly category: Category;
  readonly carrier: string;
  /** The alternatives in the order they are tried; each hop removes one. */
  readonly plan: readonly string[];
  readonly sender: string;
  readonly senderTonNpi: TonNpi;
  /** E.164 with the leading plus. */
  readonly recipient: string;
  readonly recipientTonNpi: TonNpi;
  readonly body: MessageBody;
  readonly encoding: Encoding;
  /** National tables the ingress chose for a GSM-7 text: every carrier of the plan supports them. */
  readonly shift: Shift;
  readonly segments: number;
  readonly registeredDelivery: number;
  /** Wall time of the 202, milliseconds since the epoch. */
  readonly acceptedAtMs: number;
  /** Wall time before which it is not sent: its `send_at`, or the end of quiet hours. Null: at once. */
  readonly scheduledAtMs: number | null;
  /** After this wall time it must not be submitted. */
  readonly validUntilMs: number;
  readonly clientReference: string | null;
  readonly campaignId: string | null;
  readonly variantId: string | null;
  readonly templateId: string | null;
  readonly livemode: boolean;
  /** Price in millionths of the account's currency, and the version of the price list; null: not charged. */
  readonly priceMicros: number | null;
  readonly priceVersion: number | null;
  /** The reasons of its routing: one short line per decision, for `explain` and support. */
  readonly trace: readonly string[];
  /** Absent: its events go to the account's endpoints only. */
  readonly callback?: MessageCallback;
  /** 1 after the decision to resend it although a carrier may have it; never more. */
  readonly resends: number;
  /**
   * Only of one-time passwords. may: a second copy may go to the next carrier · control: it is only noted when one would
   * have gone · copy: this record is the second copy, and there is no third. Absent: none of these.
   */
  readonly hedge?: Hedge;
  /**
   * Only of one-time passwords whose route was drawn by conversion: the operator of the number, under which it is counted
   * for the carrier that takes it. Absent: it is not counted.
   */
  readonly scoredAs?: string;
};
