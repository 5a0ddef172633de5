// The interface of policy: what an entry point passes in and gets back. Every entry point (HTTP, SMPP, batch, campaigns)
// uses the same engine. Types are structural, so that policy depends on neither the directory, the
// configuration file nor HTTP: an entry point translates a refusal into its own protocol.
import type { WebhookEndpointId } from '../model/ids.ts';
import type { Category, Encoding, MessageCallback } from '../model/message.ts';
import type { CarrierState } from '../model/carrier-state.ts';
import type { SenderKind } from '../model/sender.ts';
import type { NationalLanguage, Shift } from '../model/text/national-languages.ts';
import type { ContentHit, ContentRules } from './admission/content-rules.ts';
import type { TemplateSource } from './admission/template/template.ts';
import type { CountryRules } from './country/contract.ts';
import type { Registries } from './registry/contract.ts';

/** The numbers of one account. `has`: whether one of its entries covers this sender and category. */
export type Suppressions = { has(to: string, sender: string, category: Category): boolean };

/** An approved template; others are not in the directory. */
export type ApprovedTemplate = TemplateSource & { readonly templateId: string; readonly category: Category };

/** The approved templates of one account. */
export type ApprovedTemplates = {
  find(templateId: string): ApprovedTemplate | undefined;
  ofCategory(category: Category): Iterable<ApprovedTemplate>;
};

/** The webhook endpoints of one account, by the origin of their URL. */
export type WebhookOrigins = {
  ofOrigin(origin: string, livemode: boolean): { readonly id: WebhookEndpointId } | undefined;
};

/** The sender of a request: the part of acceptance/principal.ts's Principal that gates read. */
export type Principal = {
  /** False: a test message, which reaches nobody. */
  readonly livemode: boolean;
  readonly scopes: readonly string[];
  readonly account: {
    readonly accountId?: string;
    readonly status: 'active' | 'suspended';
    readonly senders: ReadonlySet<string>;
    /** Senders that are approved for some categories only. */
    readonly senderCategories?: ReadonlyMap<string, readonly Category[]>;
    /** Categories in which only texts of approved templates may be sent. */
    readonly requireTemplate?: readonly Category[];
    readonly templates?: ApprovedTemplates;
    readonly content?: ContentRules | null;
    readonly suppressions?: Suppressions;
    readonly webhooks?: WebhookOrigins;
  };
};

/**
 * A template and its values. `before` and `after`: what a phone reads by itself around the text of a one-time password
 * (model/otp-text.ts), which no template can have.
 */
export type SmsTemplate = {
  readonly id: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly before?: string;
  readonly after?: string;
};

/** What is to be sent: the ingress has checked the types, and nothing else. */
export type SmsRequest = {
  readonly to: string;
  readonly from: string;
  /** The text; empty when a template is named. */
  readonly message: string;
  readonly template?: SmsTemplate | null;
  readonly category: Category;
  readonly encoding: 'auto' | Encoding;
  /** Replaces characters outside GSM-7 by look-alikes, if the whole text then fits GSM-7. */
  readonly transliterate: boolean;
  readonly clientReference: string | null;
  /** Null: the category's default validity. */
  readonly validitySeconds: number | null;
  /** When to send it, milliseconds since the epoch; null or absent: now. */
  readonly sendAtMs?: number | null;
  /** Replaces each http(s) link by a short one that counts its clicks. */
  readonly trackClicks?: boolean;
  /** Whether a message is held until quiet hours end, or refused. */
  readonly quietHours: 'hold' | 'reject';
  /** Where the message's events go; null or absent: only to the account's endpoints. */
  readonly callbackUrl?: string | null;
};

/** The codes that gates refuse with. */
export const refusalCodes = [
  'scope_missing',
  'account_suspended',
  'invalid_recipient',
  'unsupported_destination',
  'invalid_field',
  'ip_not_allowed',
  'sender_not_registered',
  'template_mismatch',
  'content_blocked',
  'link_not_trackable',
  'recipient_opted_out',
  'message_empty',
  'message_too_long',
  'encoding_mismatch',
  'recipient_do_not_disturb',
  'do_not_disturb_unknown',
  'quiet_hours',
  'no_route',
] as const;
export type RefusalCode = (typeof refusalCodes)[number];

/** A gate's refusal. `field` is null when nothing in the request is wrong. `detail` says what a developer should do. */
export type Refusal = {
  readonly ok: false;
  readonly code: RefusalCode;
  readonly field:
    | 'send_at'
    | 'to'
    | 'from'
    | 'message'
    | 'category'
    | 'quiet_hours'
    | 'template_id'
    | 'track_clicks'
    | 'callback_url'
    | `variables.${string}`
    | null;
  readonly detail: string;
  /** What of the text the content rules block: a route whose text comes from several fields names the right one by it. */
  readonly found?: ContentHit;
  /** The version of the registry that refuses. */
  readonly registry?: string;
  /** Further fields that are wrong in the same way. */
  readonly others?: readonly { readonly field: `variables.${string}`; readonly detail: string }[];
  /** How many more there are. */
  readonly othersNotNamed?: number;
};

/** What the ingress needs to build the message. */
export type Admitted = {
  readonly ok: true;
  /** The text to send: the request's or its template's, perhaps transliterated. */
  readonly text: string;
  readonly templateId: string | null;
  /** The links that the text has placeholders for, in order: their codes are made when the message is accepted. */
  readonly links: readonly string[];
  readonly encoding: Encoding;
  /** National tables of a text in GSM-7, which every carrier of the route supports. */
  readonly shift: Shift;
  readonly segments: number;
  /** The character that made encoding `auto` take UCS-2, and its UTF-16 position in the text; null when none did. */
  readonly ucs2Because: { readonly character: string; readonly index: number } | null;
  /** Makes the plan when the message has its id. */
  readonly route: Route;
  /** Null: it may be sent at once. Else when (its `send_at`, the end of quiet hours), milliseconds since the epoch. */
  readonly notBeforeMs: number | null;
  /** Null: without a callback. */
  readonly callback: MessageCallback | null;
  /** Other decisions, one short line each. The route's own lines come with its plan. */
  readonly trace: readonly string[];
};

export type Admission = Admitted | Refusal;

/** One carrier of a plan and the reason for its place. */
export type RouteCandidate = { readonly carrier: string; readonly why: string };

/** The carrier a message is given to, and its alternatives, in order. */
export type RoutePlan = {
  readonly carrier: string;
  readonly others: readonly string[];
  readonly candidates: readonly RouteCandidate[];
  /** One short line per decision, stored with the message. */
  readonly trace: readonly string[];
};

/** What routing found for a number, a category and a kind of sender. */
export type Route = {
  /** Carriers that the rule names and that cannot take this message, with the reason. */
  readonly excluded: readonly RouteCandidate[];
  /** The national tables that every possible carrier supports: the text is counted before its carrier is chosen. */
  readonly nationalTables: readonly NationalLanguage[];
  /** Where it is drawn by conversion: the operator of the number, under which its code is counted. */
  readonly scoredAs?: string;
  /** The same id always gets the same plan, except for carriers avoided at the moment and for what a draw knows of them. */
  planFor(messageId: string): RoutePlan;
};

/** The carriers' present health; a carrier without a heartbeat is good. */
export type CarrierHealthView = {
  stateOf(carrier: string): CarrierState;
  /** A short reason for operators: no_bind, errors, slow … */
  reasonOf(carrier: string): string;
};

/**
 * listed: in the order of the list · cheapest: by cost, equals by weight · weighted: distributed by weight · conversion:
 * drawn by how many one-time passwords of each carrier are entered.
 */
export type RouteChoice = 'listed' | 'cheapest' | 'weighted' | 'conversion';

/** A carrier as routing sees it. */
export type CarrierOffer = {
  readonly name: string;
  readonly classes: readonly Category[];
  /** Kinds of sender that it delivers unchanged. */
  readonly senders: readonly SenderKind[];
  /** Per segment, in any unit that is the same for all. */
  readonly cost: number;
  /** Its share where a route chooses by weight; 0: only when there is no other. */
  readonly weight: number;
  /** National shift tables of GSM-7 (3GPP TS 23.038, annex A) that it supports, in its order of preference. */
  readonly nationalTables: readonly NationalLanguage[];
};

/** What changes while the engine runs; read again for every message. */
export type Circumstances = {
  nowMs(): number;
  registries(): Registries;
};

/** Where short links lead through. Without a slash at the end: `https://sms.example.com`. */
export type LinkRules = {
  readonly baseUrl: string;
  /** Accounts with a domain of their own. */
  readonly accounts: Readonly<Record<string, string>>;
};

/** The parts of the configuration that routing reads. */
export type RoutingRules = {
  readonly country: CountryRules;
  /** What no account may send. */
  readonly content?: ContentRules;
  /** Absent: links cannot be tracked. */
  readonly links?: LinkRules;
  readonly carriers: readonly CarrierOffer[];
  readonly routes: readonly {
    readonly prefix: string;
    readonly classes: readonly Category[];
    readonly carriers: readonly string[];
    readonly choose: RouteChoice;
  }[];
  /** The carriers for a message whose own carrier cannot take it, in order. */
  readonly fallback: readonly string[];
  /** The carrier of test keys, whatever the number. */
  readonly sandboxCarrier: string;
};
