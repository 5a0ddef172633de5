// The tables of the control plane for Kysely. It follows the migrations: a column is here when the last migration has
// it. Times are timestamptz, ids are text made in model/ids.ts.
import type { Generated } from 'kysely';
import type { Scope } from '../../model/api-key.ts';
import type { AccountId, ApiKeyId, SenderId, SuppressionId, TemplateId, WebhookEndpointId } from '../../model/ids.ts';
import type { Category } from '../../model/message.ts';
import type { SenderKind } from '../../model/sender.ts';
import type { WebhookDisabledReason, WebhookOrdering } from '../../model/webhook-endpoint.ts';
import type { Rate } from '../../directory/contract.ts';
import type { EntityKind } from '../../directory/tenant-entities.ts';

export type AccountStatus = 'active' | 'suspended';

export const senderStatuses = ['approved', 'pending', 'rejected'] as const;
export type SenderStatus = (typeof senderStatuses)[number];

export const templateStatuses = ['pending', 'approved', 'rejected'] as const;
export type TemplateStatus = (typeof templateStatuses)[number];

/** keyword: the subscriber sent STOP; only this reason is removed by START. */
export type SuppressionReason = 'opted_out' | 'complaint' | 'unreachable' | 'manual' | 'import' | 'keyword';

export type AccountsTable = {
  id: AccountId;
  name: string;
  status: AccountStatus;
  created_at: Date;
  ip_allowlist: Generated<readonly string[]>;
  rate_per_second: number | null;
  rate_burst: number | null;
  /** Null: limits.idempotency.keysPerHourDefault. */
  idempotency_keys_per_hour: number | null;
  require_template: Generated<readonly Category[]>;
  content_words: Generated<readonly string[]>;
  links_denied: Generated<readonly string[]>;
  links_allowed: Generated<readonly string[]>;
  /** Categories whose messages are resent when it is unknown whether the carrier took them. */
  resend_unknown: Generated<readonly Category[]>;
  /** Whether the event store keeps the sealed texts of subscribers. */
  keep_inbound_text: Generated<boolean>;
  /** Whether its one-time passwords may have four or five digits: the operator decides. */
  otp_short_codes: Generated<boolean>;
  /** The account's own reply to HELP; null: the country's. */
  help_text: string | null;
  /** Its weight in a carrier's lane beside other waiting accounts, 1 to 100. */
  weight: Generated<number>;
  /** The number of this account's rows in `suppressions`, and the bits of its block numbers. */
  suppressed: Generated<number>;
  suppression_bits: Generated<number>;
};

export type ApiKeysTable = {
  id: ApiKeyId;
  account_id: AccountId;
  public_id: string;
  /** SHA-256 of the secret. */
  secret_hash: Buffer;
  livemode: boolean;
  scopes: readonly Scope[];
  description: string;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  /** Networks from which it may be used; empty: all. */
  ip_allowlist: Generated<readonly string[]>;
  rate_per_second: number | null;
  rate_burst: number | null;
  /** The day on which it was last used, in UTC, as `2026-11-22`. */
  last_used_on: Generated<string | null>;
};

export type SendersTable = {
  id: SenderId;
  account_id: AccountId;
  name: string;
  kind: SenderKind;
  status: SenderStatus;
  created_at: Date;
  /** Null: for every category. */
  categories: readonly Category[] | null;
};

export type TemplatesTable = {
  id: TemplateId;
  account_id: AccountId;
  name: string;
  category: Category;
  body: string;
  /** jsonb: written as JSON text, read as a list of TemplateVariable. */
  variables: unknown;
  status: TemplateStatus;
  /** The operator's note to the account, such as why it was rejected. */
  note: Generated<string>;
  created_at: Date;
};

export type WebhookEndpointsTable = {
  id: WebhookEndpointId;
  account_id: AccountId;
  livemode: boolean;
  url: string;
  events: readonly string[];
  ordering: WebhookOrdering;
  /** Both null: one event in each request. */
  batch_max: number | null;
  batch_wait_ms: number | null;
  /** Base64: sealed with the body key, bound to the id (model/webhook-secrets.ts). */
  sealed_secrets: string;
  /** Null: enabled. */
  disabled_reason: WebhookDisabledReason | null;
  disabled_at: Date | null;
  /** Null: it was never disabled. */
  enabled_at: Date | null;
  description: string;
  created_at: Date;
};

export type SuppressionsTable = {
  id: SuppressionId;
  account_id: AccountId;
  /** E.164 without its plus. */
  number: number;
  place: number;
  /** '' covers every sender. */
  sender: string;
  /** '' covers every category. */
  category: Category | '';
  reason: SuppressionReason;
  created_at: Date;
};

/** The last decision of a subscriber about a sender. */
type SubscriberDecisionsTable = {
  account_id: AccountId;
  number: number;
  /** '' covers every sender. */
  sender: string;
  keyword: 'stop' | 'start';
  at_ms: number;
  message_id: string;
};

/** The erasures that this database has carried out. `mark`: cluster/bus/erasures.ts `Erasure`, as JSON. */
type ErasuresTable = { id: string; mark: string };

type SuppressionBlocksTable = {
  account_id: AccountId;
  bits: number;
  block: number;
  version: string;
};

/** Changes to project. `entity_id`: account id, public key id, `<account>.<template>` or `<account>.<bits>.<block>`. */
export type OutboxTable = {
  id: Generated<number>;
  entity: EntityKind | 'suppression';
  entity_id: string;
  created_at: Generated<Date>;
};

/** Changes, chained by hashes (audit-chain.ts). `actor` is a key's id, or `operator` for the command line. */
export type AuditLogTable = {
  /** From 1, without gaps. */
  id: number;
  /** When the row was written: never before the previous row. */
  recorded_at: Date;
  /** When it happened. */
  at: Date;
  account_id: AccountId | null;
  actor: string;
  action: string;
  target: string;
  /** jsonb: written as JSON text. Never a secret. */
  detail: string;
  /** The id of a record from the bus, which may arrive more than once; null: written in the change's transaction. */
  record_id: string | null;
  /** The origin: an address, or user and name of a machine. */
  origin: string;
  prev_hash: Buffer;
  hash: Buffer;
};

/** One row: the end of the audit log's chain. Writers lock it. */
type AuditChainTable = {
  seq: number;
  hash: Buffer;
  recorded_at: Date;
  /** `2026-11`: the last written partition. */
  month: string;
};

/** One row: the name of this database. */
type InstallationTable = {
  id: string;
  created_at: Date;
};

export type Tables = {
  accounts: AccountsTable;
  api_keys: ApiKeysTable;
  senders: SendersTable;
  templates: TemplatesTable;
  webhook_endpoints: WebhookEndpointsTable;
  suppressions: SuppressionsTable;
  suppression_blocks: SuppressionBlocksTable;
  subscriber_decisions: SubscriberDecisionsTable;
  outbox: OutboxTable;
  audit_log: AuditLogTable;
  audit_chain: AuditChainTable;
  installation: InstallationTable;
  erasures: ErasuresTable;
};

/**
 * A rate limit in two columns: both null is no limit; without a burst the burst is the rate of one second.
 */
type RateColumns = { readonly rate_per_second: number | null; readonly rate_burst: number | null };

export function rateOf({ rate_per_second: perSecond, rate_burst: burst }: RateColumns): Rate | null {
  return perSecond === null ? null : { perSecond, burst: burst ?? perSecond };
}

export function rateColumns(rate: Rate | null | undefined): RateColumns {
  return { rate_per_second: rate?.perSecond ?? null, rate_burst: rate?.burst ?? null };
}
