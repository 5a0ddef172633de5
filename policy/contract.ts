// What a door hands to policy and what it gets back. Types only: every door (HTTP, SMPP, batch, campaigns) asks
// the same engine with these words. Shapes are structural, so that policy knows neither the directory nor the
// configuration file; it must never learn about HTTP either: a door turns a refusal into its own protocol.
import type { Category, Encoding } from '../model/message.ts';

/** Who wants to send. The directory's entries fit into it without being copied. */
export type Applicant = {
  readonly key: { readonly livemode: boolean; readonly scopes: readonly string[] };
  readonly account: { readonly status: 'active' | 'suspended'; readonly senders: ReadonlySet<string> };
};

/** What is to be sent: the types have been checked by the door, nothing else has. */
export type SmsRequest = {
  readonly to: string;
  readonly from: string;
  readonly message: string;
  readonly category: Category;
  readonly encoding: 'auto' | Encoding;
  readonly clientReference: string | null;
  /** Null: the category's usual validity. */
  readonly validitySeconds: number | null;
};

export type RefusalCode =
  | 'scope_missing'
  | 'account_suspended'
  | 'invalid_recipient'
  | 'unsupported_destination'
  | 'invalid_field'
  | 'sender_not_registered'
  | 'message_empty'
  | 'message_too_long'
  | 'encoding_mismatch'
  | 'no_route';

/** A gate's no. `field` is null when nothing in the request is wrong. `detail` says what to do, for a developer. */
export type Refusal = {
  readonly ok: false;
  readonly code: RefusalCode;
  readonly field: 'to' | 'from' | 'message' | null;
  readonly detail: string;
};

/** Everything the door must know to build the message. */
export type Admitted = {
  readonly ok: true;
  readonly encoding: Encoding;
  readonly segments: number;
  readonly carrier: string;
  /** Why it goes this way, one short line per decision. */
  readonly trace: readonly string[];
};

export type Admission = Admitted | Refusal;

/** The parts of the configuration that routing reads. */
export type RoutingRules = {
  readonly country: {
    readonly callingCode: string;
    readonly nationalLengths: readonly number[];
    readonly prefixes: Readonly<Record<string, string>>;
  };
  readonly carriers: readonly { readonly name: string; readonly classes: readonly Category[] }[];
  readonly routes: readonly {
    readonly prefix: string;
    readonly classes: readonly Category[];
    readonly carriers: readonly string[];
  }[];
  /** Where test keys go, whatever the number. */
  readonly sandboxCarrier: string;
};
