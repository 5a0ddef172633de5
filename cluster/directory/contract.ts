// What the data plane knows about tenants: the shape of the entries in the KV bucket `directory` and what the
// in-memory directory answers. Types only, so that any door may import it. Entries carry a version: a reader
// must cope with fields it does not know, and a writer never changes the meaning of one that exists.
import type { Scope } from '../../model/api-key.ts';
import type { AccountId, ApiKeyId } from '../../model/ids.ts';

/** Under `key.<publicId>`. A revoked key has no entry. */
export type KeyEntry = {
  readonly v: 1;
  readonly keyId: ApiKeyId;
  readonly accountId: AccountId;
  readonly publicId: string;
  /** SHA-256 of the secret, base64url. */
  readonly secretHash: string;
  readonly livemode: boolean;
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch; null: until it is revoked. */
  readonly expiresAtMs: number | null;
};

/** Under `account.<accountId>`. */
export type AccountEntry = {
  readonly v: 1;
  readonly accountId: AccountId;
  readonly name: string;
  /** A suspended account may look but not send: that gate is the door's. */
  readonly status: 'active' | 'suspended';
  /** Names of the approved senders, in the case they were registered. */
  readonly senders: readonly string[];
};

/** An account as the gates use it: the senders as a set, built once per change and not once per message. */
export type Account = Omit<AccountEntry, 'senders'> & { readonly senders: ReadonlySet<string> };

export type Authentication =
  | { readonly ok: true; readonly key: KeyEntry; readonly account: Account }
  | { readonly ok: false; readonly code: 'missing_api_key' | 'invalid_api_key' };

export type Directory = {
  /**
   * Who holds this key. Takes the token without `Bearer `; undefined or '' is a missing key. A few microseconds,
   * no I/O. A suspended account is still authenticated: look at `account.status`.
   */
  authenticate(token: string | undefined): Authentication;
  account(accountId: AccountId): Account | undefined;
  /** For health: how many entries are held and whether the watch is up to date. */
  state(): { readonly keys: number; readonly accounts: number; readonly watching: boolean };
  close(): Promise<void>;
};
