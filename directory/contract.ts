// What the data plane knows about tenants: the entries of the KV buckets `directory` and `suppression`, and the answers
// of the in-memory directory. Types only. Entries are versioned: a reader must accept unknown and missing fields, and a
// writer never changes the meaning of an existing one.
import type { Scope } from '../model/api-key.ts';
import type { AccountId, ApiKeyId, WebhookEndpointId } from '../model/ids.ts';
import type { Category } from '../model/message.ts';
import type { WebhookEndpoint } from '../model/webhook-endpoint.ts';

/** GCRA: a rate per second, and a burst after a pause. */
export type Rate = { readonly perSecond: number; readonly burst: number };

/** Under `key.<publicId>`. A revoked key has no entry. */
export type KeyEntry = {
  readonly v: 1;
  readonly keyId: ApiKeyId;
  readonly accountId: AccountId;
  readonly publicId: string;
  /** SHA-256 of the secret, base64url. */
  readonly secretHash: string;
  /** False: its messages go to the sandbox carrier. */
  readonly livemode: boolean;
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch; null: until it is revoked. */
  readonly expiresAtMs: number | null;
  /** Networks it may be used from (CIDR); empty or missing: all. */
  readonly networks?: readonly string[];
  /** Null or missing: only the account's limit applies. */
  readonly rate?: Rate | null;
};

/** Words and links that an account does not send. */
type ContentEntry = {
  readonly words: readonly string[];
  readonly linksDenied: readonly string[];
  readonly linksAllowed: readonly string[];
};

/** Under `account.<accountId>`. */
export type AccountEntry = {
  readonly v: 1;
  readonly accountId: AccountId;
  readonly name: string;
  /** A suspended account may read but not send; the gate of the ingress checks it. */
  readonly status: 'active' | 'suspended';
  /** Names of the approved senders, in the case they were registered. */
  readonly senders: readonly string[];
  /** Senders that are approved for some categories only. */
  readonly senderCategories?: Readonly<Record<string, readonly Category[]>>;
  readonly networks?: readonly string[];
  readonly rate?: Rate | null;
  /** Null or missing: the default of the installation. */
  readonly idempotencyKeysPerHour?: number | null;
  readonly requireTemplate?: readonly Category[];
  readonly content?: ContentEntry | null;
  /** Categories of which a message with an unknown outcome is sent once more; missing: none. */
  readonly resendUnknown?: readonly Category[];
  /** Whether the event store keeps the encrypted texts of subscribers; missing: no. */
  readonly keepInboundText?: boolean;
  /** Whether its one-time passwords may have four or five digits; missing: no. */
  readonly otpShortCodes?: boolean;
  /** The account's own answer to HELP; null or missing: the country's. */
  readonly helpText?: string | null;
  /** Its weight in a carrier's lane, 1 to 100; missing: 1. */
  readonly weight?: number;
};

export type TemplateVariableEntry = {
  readonly name: string;
  readonly type: 'text' | 'number' | 'code' | 'url' | 'date';
  readonly size?: number | null;
};

/** Under `template.<accountId>.<templateId>`. Only approved templates have an entry. */
export type TemplateEntry = {
  readonly v: 1;
  readonly templateId: string;
  readonly accountId: AccountId;
  readonly category: Category;
  readonly body: string;
  readonly variables: readonly TemplateVariableEntry[];
};

/** Under `webhook.<accountId>.<endpointId>`; disabled ones too, because what they miss is kept. */
export type WebhookEntry = WebhookEndpoint & { readonly v: 1 };

/** One block of an account's suppressed numbers: those whose hash begins with `block`, of 2^`bits` blocks. */
export type BlockName = { readonly accountId: AccountId; readonly bits: number; readonly block: number };
export type BlockNumber = { readonly number: number; readonly sender: string; readonly category: Category | '' };

/** Under `block.<accountId>.<bits>.<block>` in the bucket `suppression`: see model/suppression.ts. */
export type SuppressionBlockEntry = {
  readonly v: 1;
  /** Different content has a different version. */
  readonly version: string;
  readonly lists: readonly {
    readonly sender: string | null;
    readonly category: Category | null;
    /** Sorted float64, little-endian, base64. */
    readonly numbers: string;
  }[];
};

/** The approved templates of one account at the moment. */
export type AccountTemplates = {
  find(templateId: string): TemplateEntry | undefined;
  ofCategory(category: Category): Iterable<TemplateEntry>;
};

/** The webhook endpoints of one account at the moment. */
export type AccountWebhooks = {
  /** Of live or of test messages, the oldest first; a list that is replaced and never changed. */
  of(livemode: boolean): readonly WebhookEndpoint[];
  /**
   * The oldest enabled one whose URL has this origin, such as `https://example.com`; without one the oldest disabled one:
   * a receiver that fails must not keep messages from being sent.
   */
  ofOrigin(origin: string, livemode: boolean): WebhookEndpoint | undefined;
};

/** The suppressed numbers of one account at the moment. */
export type AccountSuppressions = { has(to: string, sender: string, category: Category): boolean };

/** An account as the gates use it: sets and maps instead of lists, built once per change. */
export type Account = Omit<AccountEntry, 'senders' | 'senderCategories'> & {
  readonly senders: ReadonlySet<string>;
  readonly senderCategories: ReadonlyMap<string, readonly Category[]>;
  readonly templates: AccountTemplates;
  readonly webhooks: AccountWebhooks;
  readonly suppressions: AccountSuppressions;
};

export type Authentication =
  | { readonly ok: true; readonly key: KeyEntry; readonly account: Account }
  | { readonly ok: false; readonly code: 'missing_api_key' | 'invalid_api_key' };

export type Directory = {
  /**
   * The owner of an API key. Takes the token without `Bearer `; undefined or '' is a missing key. A few microseconds,
   * no I/O. A suspended account is authenticated: check `account.status`.
   */
  authenticate(token: string | undefined): Authentication;
  account(accountId: AccountId): Account | undefined;
  webhookEndpoint(id: WebhookEndpointId): WebhookEndpoint | undefined;
  /** The accounts that registered this number or short code as a sender, the oldest first; digits without a plus. */
  ownersOf(digits: string): readonly { readonly accountId: AccountId; readonly sender: string }[];
  /** For health: how many entries are in memory and whether the watch is up to date. */
  state(): { readonly keys: number; readonly accounts: number; readonly webhooks: number; readonly watching: boolean };
  close(): Promise<void>;
};
