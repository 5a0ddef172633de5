// The control-plane tables as Kysely sees them. It follows the migrations and is never ahead of them: a column
// stands here when the last migration has it. Times are timestamptz, ids are text made in model/ids.ts.
import type { Generated } from 'kysely';
import type { Scope } from '../../model/api-key.ts';
import type { AccountId, ApiKeyId, SenderId } from '../../model/ids.ts';
import type { SenderKind } from '../../model/sender.ts';

export const accountStatuses = ['active', 'suspended'] as const;
export type AccountStatus = (typeof accountStatuses)[number];

export const senderStatuses = ['approved', 'pending', 'rejected'] as const;
export type SenderStatus = (typeof senderStatuses)[number];

export type AccountsTable = {
  id: AccountId;
  name: string;
  status: AccountStatus;
  created_at: Date;
};

export type ApiKeysTable = {
  id: ApiKeyId;
  account_id: AccountId;
  public_id: string;
  /** SHA-256 of the secret. */
  secret_hash: Buffer;
  livemode: boolean;
  scopes: Scope[];
  description: string;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
};

export type SendersTable = {
  id: SenderId;
  account_id: AccountId;
  name: string;
  kind: SenderKind;
  status: SenderStatus;
  created_at: Date;
};

/** What the directory has not been told yet. `entity_id` is the account's id or the key's public id. */
export type OutboxTable = {
  id: Generated<number>;
  entity: 'account' | 'key';
  entity_id: string;
  created_at: Generated<Date>;
};

/** Who changed what. `actor` is a key's id, or `operator` for whoever has the database's password. */
export type AuditLogTable = {
  id: Generated<number>;
  at: Date;
  account_id: AccountId | null;
  actor: string;
  action: string;
  target: string;
  /** jsonb: written as JSON text. Never a secret. */
  detail: string;
};

export type Tables = {
  accounts: AccountsTable;
  api_keys: ApiKeysTable;
  senders: SendersTable;
  outbox: OutboxTable;
  audit_log: AuditLogTable;
};
