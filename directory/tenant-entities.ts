// The entities of tenants as entries of the KV bucket `directory`: one row each, with its name in the bucket and its
// fields as JSON that the nats tool can show. The same entity always encodes to the same text, so that comparing texts
// finds drift. control/projection/tenant-sources.ts has their sources. Pure.
import { jsonObjectIn } from '../platform/json.ts';
import { categories } from '../model/message.ts';
import { webhookDisabledReasons, webhookOrderings } from '../model/webhook-endpoint.ts';
import type { AccountEntry, KeyEntry, TemplateEntry, WebhookEntry } from './contract.ts';

export type TenantEntities = {
  readonly account: AccountEntry;
  readonly key: KeyEntry;
  readonly template: TemplateEntry;
  readonly webhook: WebhookEntry;
};
export type EntityKind = keyof TenantEntities;

type TenantEntity<Entry> = {
  readonly idOf: (entry: Entry) => string;
  readonly nameOf: (id: string) => string;
  readonly encode: (entry: Entry) => string;
  /** Null when the body does not match the name: the reader then stores nothing, which refuses. */
  readonly decode: (id: string, body: Uint8Array) => Entry | null;
};

/** In the bucket when everything was written into it: without it a new bucket is still being filled. */
export const filledEntryName = 'meta.filled';

/** One field: whether a decoded value is valid, and what is written for one. */
type Field = { readonly is: (value: unknown) => boolean; readonly write?: (value: unknown) => unknown };
type Fields<Entry> = { readonly [Name in Exclude<keyof Entry, 'v'>]-?: Field };

const isText = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const asItIs = (value: unknown) => value;
const oneOf = (values: readonly unknown[]): Field => ({ is: (value) => values.includes(value) });
const listOf = ({ is }: Field): Field => ({ is: (value) => Array.isArray(value) && value.every(is) });
const sorted = ({ is }: Field): Field => ({ is, write: (value) => [...(value as readonly string[])].sort() });
const mapOf = ({ is }: Field): Field => ({
  is: (value) => isObject(value) && Object.values(value).every(is),
  write: (value) => Object.fromEntries(Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : 1))),
});
/** A field added in a later version: an entry of an earlier one does not have it. */
const optional = (absent: unknown, { is, write = asItIs }: Field): Field => ({
  is: (value) => value === undefined || value === null || is(value),
  write: (value) => write(value ?? absent),
});

const text: Field = { is: isText };
const flag = oneOf([true, false]);
const number: Field = { is: (value) => typeof value === 'number' };
const categoryList = listOf(oneOf(categories));
const rate: Field = {
  is: (value) => isObject(value) && Number(value['perSecond']) > 0 && Number(value['burst']) >= 1,
};
const content: Field = {
  is: (value) => isObject(value) && ['words', 'linksDenied', 'linksAllowed'].every((of) => listOf(text).is(value[of])),
};
const batch: Field = {
  is: (value) => value === null || (isObject(value) && number.is(value['max']) && number.is(value['waitMs'])),
};
const variableType = oneOf(['text', 'number', 'code', 'url', 'date']);
const variables: Field = {
  is: listOf({ is: (value) => isObject(value) && isText(value['name']) && variableType.is(value['type']) }).is,
  // The database returns objects with their keys in an order of its own.
  write: (value) => (value as TemplateEntry['variables']).map(({ name, type, size = null }) => ({ name, type, size })),
};

/** Accounts first: a key must never be in the directory before its account. */
export const tenantEntities: { readonly [Kind in EntityKind]: TenantEntity<TenantEntities[Kind]> } = {
  account: entity('account', ({ accountId }) => accountId, {
    accountId: text,
    name: text,
    status: oneOf(['active', 'suspended']),
    senders: sorted(listOf(text)),
    senderCategories: optional({}, mapOf(categoryList)),
    networks: optional([], listOf(text)),
    rate: optional(null, rate),
    idempotencyKeysPerHour: optional(null, number),
    requireTemplate: optional([], categoryList),
    content: optional(null, content),
    resendUnknown: optional([], sorted(categoryList)),
    keepInboundText: optional(false, flag),
    otpShortCodes: optional(false, flag),
    helpText: optional(null, text),
    weight: optional(1, { is: (value) => Number.isInteger(value) && Number(value) >= 1 }),
  }),
  key: entity('key', ({ publicId }) => publicId, {
    keyId: text,
    accountId: text,
    publicId: text,
    secretHash: text,
    livemode: flag,
    scopes: sorted(listOf(text)),
    expiresAtMs: { is: (value) => value === null || number.is(value) },
    networks: optional([], listOf(text)),
    rate: optional(null, rate),
  }),
  template: entity('template', ({ accountId, templateId }) => `${accountId}.${templateId}`, {
    templateId: text,
    accountId: text,
    category: oneOf(categories),
    body: text,
    variables,
  }),
  webhook: entity('webhook', ({ accountId, id }) => `${accountId}.${id}`, {
    id: text,
    accountId: text,
    livemode: flag,
    url: { is: (value) => isText(value) && URL.canParse(value) },
    events: sorted(listOf(text)),
    ordering: oneOf(webhookOrderings),
    batch,
    sealedSecrets: text,
    status: oneOf(['enabled', 'disabled']),
    disabledReason: oneOf([null, ...webhookDisabledReasons]),
    enabledAtMs: optional(null, number),
    description: text,
    createdAtMs: number,
  }),
};

export const entityKinds = Object.keys(tenantEntities) as readonly EntityKind[];

/** What an entry is about, from its name alone: deletions have no body. Null for a kind this version does not know. */
export function entityOfName(name: string): { readonly kind: EntityKind; readonly id: string } | null {
  const kind = entityKinds.find((each) => name.startsWith(`${each}.`));
  return kind === undefined ? null : { kind, id: name.slice(kind.length + 1) };
}

function entity<Kind extends EntityKind>(
  kind: Kind,
  idOf: (entry: TenantEntities[Kind]) => string,
  fields: Fields<TenantEntities[Kind]>,
): TenantEntity<TenantEntities[Kind]> {
  const each = Object.entries<Field>(fields);
  return {
    idOf,
    nameOf: (id) => `${kind}.${id}`,
    encode(entry) {
      const values = entry as Readonly<Record<string, unknown>>;
      const written = each.map(([name, { write = asItIs }]) => [name, write(values[name])]);
      return JSON.stringify({ v: 1, ...Object.fromEntries(written) });
    },
    decode(id, body) {
      const value = jsonObjectIn(body);
      if (value === null || value['v'] !== 1 || !each.every(([name, { is }]) => is(value[name]))) return null;
      const entry = value as TenantEntities[Kind];
      return idOf(entry) === id ? entry : null;
    },
  };
}
