// All actions of the audit log, as a type, so that a filter for an unknown action differs from one for an action
// without records.
import { senderStatuses, templateStatuses } from './schema.ts';

const desiredState = ['paused', 'drained', 'resumed'] as const;

export const auditActions = [
  'account.created',
  'account.activated',
  'account.suspended',
  'account.changed',
  'api_key.created',
  'api_key.changed',
  'api_key.revoked',
  'sender.created',
  ...senderStatuses.map((status) => `sender.${status}` as const),
  'sender.deleted',
  'template.created',
  ...templateStatuses.map((status) => `template.${status}` as const),
  'template.deleted',
  'webhook.created',
  'webhook.changed',
  'webhook.enabled',
  'webhook.disabled',
  'webhook.secret_rotated',
  'webhook.deleted',
  'suppression.added',
  'suppression.removed',
  'suppression.opted_out',
  'suppression.opted_in',
  'link.disabled',
  'link.enabled',
  ...desiredState.map((order) => `carrier.${order}` as const),
  ...desiredState.map((order) => `bind.${order}` as const),
  'dead_record.replayed',
  'dead_record.dropped',
  'registry.imported',
  'config.reloaded',
  'otp_guard.changed',
  'otp_guard.blocked',
  'otp_guard.released',
  'directory.released',
  'body_key.rotated',
  'audit.detached',
  'sql_user.created',
  'sql_user.rotated',
  'sql_user.dropped',
] as const;

export type AuditAction = (typeof auditActions)[number];
