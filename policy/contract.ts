// The interface of policy: what an entry point passes in and gets back. Types only: every entry point (HTTP, SMPP,
// batch, campaigns) uses the same engine. Shapes are structural, so that policy depends neither on the directory nor
// on the configuration file, and never on HTTP: an entry point turns a refusal into its own protocol.
import type { Category, Encoding } from '../model/message.ts';
import type { CarrierState } from '../model/carrier-state.ts';
import type { SenderKind } from '../model/sender.ts';
import type { NationalLanguage, Shift } from '../model/text/national-languages.ts';
import type { ContentRules } from './admission/content-rules.ts';
import type { TemplateSource } from './admission/template/template.ts';
import type { CountryRules } from './country/contract.ts';
import type { Registries } from './registry/contract.ts';

/** The numbers of one account. `has`: whether one of its entries covers this sender and category. */
export type Suppressions = { has(to: string, sender: string, category: Category): boolean };

/** A template as the account's directory holds it: approved, or it would not be there. */
export type ApprovedTemplate = TemplateSource & { readonly templateId: string; readonly category: Category };

/** The approved templates of one account. */
export type ApprovedTemplates = {
  find(templateId: string): ApprovedTemplate | undefined;
  ofCategory(category: Category): Iterable<ApprovedTemplate>;
};

/** Who wants to send, as gates see it: the part of acceptance/principal.ts's Principal that they read. */
export type Principal = {
  /** False: a test message, which reaches nobody. */
  readonly livemode: boolean;
  readonly scopes: readonly string[];
  readonly account: {
    readonly status: 'active' | 'suspended';
    readonly senders: ReadonlySet<string>;
    /** Senders that were approved for some categories only. */
    readonly senderCategories?: ReadonlyMap<string, readonly Category[]>;
    /** Categories in which only texts of approved templates go out. */
    readonly requireTemplate?: readonly Category[];
    readonly templates?: ApprovedTemplates;
    readonly content?: ContentRules | null;
    readonly suppressions?: Suppressions;
  };
};

/** What is to be sent: the types have been checked by the ingress, nothing else has. */
export type SmsRequest = {
  readonly to: string;
  readonly from: string;
  /** The text; empty when a template is named. */
  readonly message: string;
  readonly template?: { readonly id: string; readonly variables: Readonly<Record<string, unknown>> } | null;
  readonly category: Category;
  readonly encoding: 'auto' | Encoding;
  /** Characters outside GSM-7 may be written as their look-alikes, if the whole text then fits GSM-7. */
  readonly transliterate: boolean;
  readonly clientReference: string | null;
  /** Null: the category's usual validity. */
  readonly validitySeconds: number | null;
  /** When it is to go out, milliseconds since the epoch; null or left out: now. */
  readonly sendAtMs?: number | null;
  /** Whether a message that comes in quiet hours waits for their end or is refused. */
  readonly quietHours: 'hold' | 'reject';
};

export type RefusalCode =
  | 'scope_missing'
  | 'account_suspended'
  | 'invalid_recipient'
  | 'unsupported_destination'
  | 'invalid_field'
  | 'ip_not_allowed'
  | 'sender_not_registered'
  | 'template_mismatch'
  | 'content_blocked'
  | 'recipient_opted_out'
  | 'message_empty'
  | 'message_too_long'
  | 'encoding_mismatch'
  | 'recipient_do_not_disturb'
  | 'do_not_disturb_unknown'
  | 'quiet_hours'
  | 'no_route';

/** A gate's no. `field` is null when nothing in the request is wrong. `detail` says what to do, for a developer. */
export type Refusal = {
  readonly ok: false;
  readonly code: RefusalCode;
  readonly field: 'send_at' | 'to' | 'from' | 'message' | 'category' | 'template_id' | `variables.${string}` | null;
  readonly detail: string;
  /** The version of the registry that says no. */
  readonly registry?: string;
  /** Further fields that are wrong in the same way. */
  readonly others?: readonly { readonly field: `variables.${string}`; readonly detail: string }[];
};

/** Everything the ingress must know to build the message. */
export type Admitted = {
  readonly ok: true;
  /** What goes out: the request's text or what its template gave, perhaps transliterated. */
  readonly text: string;
  readonly templateId: string | null;
  readonly encoding: Encoding;
  /** National tables of a text in GSM-7, which every carrier of the route understands. */
  readonly shift: Shift;
  readonly segments: number;
  /** The character that made encoding `auto` take UCS-2, and its UTF-16 position in the text; null when none did. */
  readonly ucs2Because: { readonly character: string; readonly index: number } | null;
  /** Asked for the plan when the message has its id. */
  readonly route: Route;
  /**
   * Null: it may go at once. Else it waits until then (its `send_at`, the end of quiet hours); milliseconds since the
   * epoch.
   */
  readonly notBeforeMs: number | null;
  /** What else was decided, one short line per decision. The route's own lines come with its plan. */
  readonly trace: readonly string[];
};

export type Admission = Admitted | Refusal;

/** One carrier of a plan and why it is at its place. */
export type RouteCandidate = { readonly carrier: string; readonly why: string };

/** Where one message goes: the carrier it is given to, and those it may go to instead, in order. */
export type RoutePlan = {
  readonly carrier: string;
  readonly others: readonly string[];
  readonly candidates: readonly RouteCandidate[];
  /** The same as one short line per decision: it becomes part of the message. */
  readonly trace: readonly string[];
};

/** What routing found for a number, a category and a kind of sender. */
export type Route = {
  /** Carriers that the rule names and that cannot take this message, with the reason. */
  readonly excluded: readonly RouteCandidate[];
  /** Which every carrier it may go by understands, whichever that will be: the text is counted before it is known. */
  readonly nationalTables: readonly NationalLanguage[];
  /** The same id always gets the same plan, but for carriers that are avoided right now. */
  planFor(messageId: string): RoutePlan;
};

/** What is known of the carriers right now; a carrier nobody has heard of is good. */
export type CarrierHealthView = {
  stateOf(carrier: string): CarrierState;
  /** One short word for people: no_bind, errors, slow … */
  reasonOf(carrier: string): string;
};

/** listed: in the order of the list · cheapest: by cost, equals by weight · weighted: shared out by weight. */
export type RouteChoice = 'listed' | 'cheapest' | 'weighted';

/** What routing knows of a carrier. */
export type CarrierOffer = {
  readonly name: string;
  readonly classes: readonly Category[];
  /** Kinds of sender it shows as they are. */
  readonly senders: readonly SenderKind[];
  /** Per segment, in any unit, as long as it is the same for all. */
  readonly cost: number;
  /** Its share where a route chooses by weight; 0: only when nobody else can. */
  readonly weight: number;
  /** National shift tables of GSM-7 that it passes on, in its order of preference. */
  readonly nationalTables: readonly NationalLanguage[];
};

/** What changes while the engine runs; asked again for every message. */
export type Circumstances = {
  nowMs(): number;
  registries(): Registries;
};

/** The parts of the configuration that routing reads. */
export type RoutingRules = {
  readonly country: CountryRules;
  /** What no account may send. */
  readonly content?: ContentRules;
  readonly carriers: readonly CarrierOffer[];
  readonly routes: readonly {
    readonly prefix: string;
    readonly classes: readonly Category[];
    readonly carriers: readonly string[];
    readonly choose: RouteChoice;
  }[];
  /** Who may take a message whose own carrier cannot, in order. */
  readonly fallback: readonly string[];
  /** Where test keys go, whatever the number. */
  readonly sandboxCarrier: string;
};
