// Keys, accounts and templates in memory. Authenticating a request costs two map look-ups and one SHA-256. No I/O: the
// reader of the bucket puts entries in. Bounded by the bucket's size.
import { secretMatches, splitApiKey } from '../model/api-key.ts';
import type { AccountId, WebhookEndpointId } from '../model/ids.ts';
import type { WebhookEndpoint } from '../model/webhook-endpoint.ts';
import type {
  Account,
  AccountEntry,
  AccountSuppressions,
  Authentication,
  KeyEntry,
  AccountTemplates,
  TemplateEntry,
} from './contract.ts';
import { type EntityKind, type TenantEntities, entityOfName, tenantEntities } from './tenant-entities.ts';
import { senderKindOf } from '../model/sender.ts';
import { type Category, categories } from '../model/message.ts';
import { Webhooks } from './webhooks.ts';

type HeldKey = { readonly entry: KeyEntry; readonly secretHash: Buffer };
type Holder<Entry> = { put(entry: Entry): void; remove(id: string): void; count(): number };

const missing: Authentication = { ok: false, code: 'missing_api_key' };
const invalid: Authentication = { ok: false, code: 'invalid_api_key' };

export class Tenants {
  readonly #keys = new Map<string, HeldKey>();
  readonly #accounts = new Map<AccountId, Account>();
  readonly #templates = new Map<string, TemplateIndex>();
  readonly #webhooks = new Webhooks();
  readonly #numbers = new Numbers();
  readonly #suppressionsOf: (accountId: AccountId) => AccountSuppressions;
  /** Stores each kind; a further entity needs no more here than its row. */
  readonly #holders: { readonly [Kind in EntityKind]: Holder<TenantEntities[Kind]> } = {
    account: {
      put: (entry) => this.#putAccount(entry.accountId, this.#accountOf(entry)),
      remove: (id) => this.#putAccount(id as AccountId, null),
      count: () => this.#accounts.size,
    },
    key: {
      put: (entry) => this.#keys.set(entry.publicId, { entry, secretHash: Buffer.from(entry.secretHash, 'base64url') }),
      remove: (publicId) => this.#keys.delete(publicId),
      count: () => this.#keys.size,
    },
    template: {
      put: (entry) => this.#templateIndexOf(entry.accountId).put(entry),
      remove: (id) => {
        const [accountId = '', templateId = ''] = id.split('.');
        this.#templates.get(accountId)?.remove(templateId);
      },
      count: () => [...this.#templates.values()].reduce((sum, { size }) => sum + size, 0),
    },
    webhook: {
      put: (entry) => this.#webhooks.put(entry),
      remove: (id) => this.#webhooks.remove(id.slice(id.indexOf('.') + 1) as WebhookEndpointId),
      count: () => this.#webhooks.size,
    },
  };

  /** Suppressed numbers come from a bucket of their own; without it no number is suppressed. */
  constructor(suppressionsOf: (accountId: AccountId) => AccountSuppressions = () => nobodySuppressed) {
    this.#suppressionsOf = suppressionsOf;
  }

  count(kind: EntityKind): number {
    return this.#holders[kind].count();
  }

  /** A key is valid when it is known, its secret and mode match and it has not expired. */
  authenticate(token: string | undefined, nowMs: number): Authentication {
    if (token === undefined || token === '') return missing;
    const parts = splitApiKey(token);
    if (parts === null) return invalid;
    const held = this.#keys.get(parts.publicId);
    if (held === undefined || !secretMatches(parts.secret, held.secretHash)) return invalid;
    const key = held.entry;
    if (key.livemode !== parts.livemode) return invalid;
    if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs) return invalid;
    const account = this.#accounts.get(key.accountId);
    // The projector writes an account before its keys, so the account's entry was lost: refuse.
    return account === undefined ? invalid : { ok: true, key, account };
  }

  account(accountId: AccountId): Account | undefined {
    return this.#accounts.get(accountId);
  }

  webhookEndpoint(id: WebhookEndpointId): WebhookEndpoint | undefined {
    return this.#webhooks.find(id);
  }

  /**
   * Applies an entry of the bucket, or its deletion (null). False when the body cannot be read: then nothing is stored
   * under that name, so that a damaged entry refuses and never authenticates.
   */
  apply(name: string, body: Uint8Array | null): boolean {
    const subject = entityOfName(name);
    // An entry of a later version: ignored.
    return subject === null || this.#hold(subject.kind, subject.id, body);
  }

  #hold<Kind extends EntityKind>(kind: Kind, id: string, body: Uint8Array | null): boolean {
    const entry = body === null ? null : tenantEntities[kind].decode(id, body);
    if (entry === null) this.#holders[kind].remove(id);
    else this.#holders[kind].put(entry);
    return entry !== null || body === null;
  }

  /** The accounts that registered this number as a sender; `digits` without a plus. */
  ownersOf(digits: string): readonly NumberOwner[] {
    return this.#numbers.ownersOf(digits);
  }

  #putAccount(accountId: AccountId, account: Account | null): void {
    this.#numbers.change(accountId, this.#accounts.get(accountId)?.senders ?? [], account?.senders ?? []);
    if (account === null) this.#accounts.delete(accountId);
    else this.#accounts.set(accountId, account);
  }

  #accountOf(entry: AccountEntry): Account {
    return {
      ...entry,
      senders: new Set(entry.senders),
      senderCategories: new Map(Object.entries(entry.senderCategories ?? {})),
      // Entries come in any order: the index and the list change while the account stays as it is.
      templates: this.#templateIndexOf(entry.accountId),
      webhooks: this.#webhooks.ofAccount(entry.accountId),
      suppressions: this.#suppressionsOf(entry.accountId),
    };
  }

  #templateIndexOf(accountId: AccountId): TemplateIndex {
    const index = this.#templates.get(accountId) ?? new TemplateIndex();
    this.#templates.set(accountId, index);
    return index;
  }
}

const nobodySuppressed: AccountSuppressions = { has: () => false };

/** An account, and the number as it registered it. */
type NumberOwner = { readonly accountId: AccountId; readonly sender: string };

/** The owners of numbers, for subscribers' messages. Names with letters are left out: nobody can answer them. */
class Numbers {
  readonly #owners = new Map<string, NumberOwner[]>();

  /** Replaces an account's senders. */
  change(accountId: AccountId, before: Iterable<string>, now: Iterable<string>): void {
    for (const [digits, sender] of numbersOf(before)) {
      const left = (this.#owners.get(digits) ?? []).filter(
        (owner) => owner.accountId !== accountId || owner.sender !== sender,
      );
      if (left.length > 0) this.#owners.set(digits, left);
      else this.#owners.delete(digits);
    }
    for (const [digits, sender] of numbersOf(now)) {
      const owners = [...(this.#owners.get(digits) ?? []), { accountId, sender }];
      // Ids sort by time: the oldest account comes first.
      this.#owners.set(
        digits,
        owners.sort((one, other) => (one.accountId < other.accountId ? -1 : one.accountId > other.accountId ? 1 : 0)),
      );
    }
  }

  /** `digits` without a plus. The oldest account comes first. */
  ownersOf(digits: string): readonly NumberOwner[] {
    return this.#owners.get(digits) ?? [];
  }
}

/** Those that are numbers, each after its digits. */
function* numbersOf(senders: Iterable<string>): Generator<[digits: string, sender: string]> {
  for (const sender of senders) {
    const kind = senderKindOf(sender);
    if (kind === 'numeric' || kind === 'short_code') yield [sender.replace(/^\+/, ''), sender];
  }
}

class TemplateIndex implements AccountTemplates {
  readonly #byId = new Map<string, TemplateEntry>();
  /** Made when a category is first used after a change: thousands of accounts have no templates at all. */
  #byCategory: ReadonlyMap<Category, readonly TemplateEntry[]> | null = null;

  get size(): number {
    return this.#byId.size;
  }

  put(entry: TemplateEntry): void {
    this.#byId.set(entry.templateId, entry);
    this.#byCategory = null;
  }

  remove(templateId: string): void {
    this.#byId.delete(templateId);
    this.#byCategory = null;
  }

  find(templateId: string): TemplateEntry | undefined {
    return this.#byId.get(templateId);
  }

  ofCategory(category: Category): Iterable<TemplateEntry> {
    this.#byCategory ??= new Map(
      categories.map((each) => [each, [...this.#byId.values()].filter((entry) => entry.category === each)]),
    );
    return this.#byCategory.get(category) ?? [];
  }
}
