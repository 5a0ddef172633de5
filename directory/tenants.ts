// Keys, accounts and templates in memory. Authenticating a request costs two map look-ups and one SHA-256. No I/O:
// the reader of the bucket puts entries in. Bounded by the bucket's size.
import { secretMatches, splitApiKey } from '../model/api-key.ts';
import type { AccountId } from '../model/ids.ts';
import type { Account, AccountEntry, AccountSuppressions, Authentication, KeyEntry } from './contract.ts';
import { type NumberOwner, Numbers } from './numbers.ts';
import { TemplateIndex } from './template-index.ts';
import { decodeEntry, subjectOfEntry } from './entry.ts';

type HeldKey = { readonly entry: KeyEntry; readonly secretHash: Buffer };

const missing: Authentication = { ok: false, code: 'missing_api_key' };
const invalid: Authentication = { ok: false, code: 'invalid_api_key' };

export class Tenants {
  readonly #keys = new Map<string, HeldKey>();
  readonly #accounts = new Map<AccountId, Account>();
  readonly #templates = new Map<string, TemplateIndex>();
  readonly #numbers = new Numbers();
  readonly #suppressionsOf: (accountId: AccountId) => AccountSuppressions;

  /** Suppressed numbers come from a bucket of their own; without it nobody is suppressed. */
  constructor(suppressionsOf: (accountId: AccountId) => AccountSuppressions = () => nobodySuppressed) {
    this.#suppressionsOf = suppressionsOf;
  }

  get templateCount(): number {
    let count = 0;
    for (const templateIndex of this.#templates.values()) count += templateIndex.size;
    return count;
  }

  get keyCount(): number {
    return this.#keys.size;
  }

  get accountCount(): number {
    return this.#accounts.size;
  }

  /** A key is right when it is known, its secret fits, its mode is the one it says and its time is not over. */
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
    // The projector writes an account before its keys, so this is an entry that was lost: refuse.
    return account === undefined ? invalid : { ok: true, key, account };
  }

  account(accountId: AccountId): Account | undefined {
    return this.#accounts.get(accountId);
  }

  /**
   * Takes an entry of the bucket, or its deletion (null). False when the body cannot be read: then nothing is
   * held under that name, so a damaged entry refuses and never lets anybody in.
   */
  apply(name: string, body: Uint8Array | null): boolean {
    const subject = subjectOfEntry(name);
    // A kind of a later version: not ours to judge.
    if (subject === null) return true;
    const decoded = body === null ? null : decodeEntry(name, body);
    if (decoded === null) {
      if (subject.kind === 'key') this.#keys.delete(subject.id);
      else if (subject.kind === 'account') this.#putAccount(subject.id as AccountId, null);
      else {
        const [accountId = '', templateId = ''] = subject.id.split('.');
        this.#templates.get(accountId)?.remove(templateId);
      }
      return body === null;
    }
    if (decoded.kind === 'key') {
      const { entry } = decoded;
      this.#keys.set(entry.publicId, { entry, secretHash: Buffer.from(entry.secretHash, 'base64url') });
    } else if (decoded.kind === 'account') {
      this.#putAccount(decoded.entry.accountId, this.#accountOf(decoded.entry));
    } else this.#templateIndexOf(decoded.entry.accountId).put(decoded.entry);
    return true;
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
      // Entries come in any order: the index and the list fill and empty while the account stays as it is.
      templates: this.#templateIndexOf(entry.accountId),
      suppressions: this.#suppressionsOf(entry.accountId),
    };
  }

  #templateIndexOf(accountId: AccountId): TemplateIndex {
    let templateIndex = this.#templates.get(accountId);
    if (templateIndex === undefined) {
      templateIndex = new TemplateIndex();
      this.#templates.set(accountId, templateIndex);
    }
    return templateIndex;
  }
}

const nobodySuppressed: AccountSuppressions = { has: () => false };
