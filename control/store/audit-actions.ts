// All actions of the audit log, as a type, so that a filter for an unknown action differs from one for an action
// without records.
import { senderStatuses, templateStatuses } from './schema.ts';

const of = <const Thing extends string, const Verb extends string>(thing: Thing, ...verbs: readonly Verb[]) =>
  verbs.map((verb): `${Thing}.${Verb}` => `${thing}.${verb}`);

export const auditActions = [
  ...of('account', 'created', 'activated', 'suspended', 'changed'),
  ...of('api_key', 'created', 'changed', 'revoked'),
  ...of('sender', 'created', ...senderStatuses, 'deleted'),
  ...of('template', 'created', ...templateStatuses, 'deleted'),
  ...of('webhook', 'created', 'changed', 'enabled', 'disabled', 'secret_rotated', 'deleted'),
  ...of('suppression', 'added', 'removed', 'opted_out', 'opted_in'),
  ...of('link', 'disabled', 'enabled'),
  ...of('carrier', 'paused', 'drained', 'resumed'),
  ...of('bind', 'paused', 'drained', 'resumed'),
  ...of('dead_record', 'replayed', 'dropped'),
  'registry.imported',
  'config.reloaded',
  ...of('otp_guard', 'changed', 'blocked', 'released'),
  'otp.unlocked',
  'directory.released',
  'body_key.rotated',
  'number.erased',
  'audit.detached',
  ...of('sql_user', 'created', 'rotated', 'dropped'),
] as const;

export type AuditAction = (typeof auditActions)[number];
