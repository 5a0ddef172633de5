// A request of the fuzz test as a value. `<sms 3>` in it is the third id that was returned so far and `<in 5>` the time
// in five seconds: both are known only when it is sent.

export const goodKeys = ['live', 'test'] as const;
export const badKeys = ['readOnly', 'fenced', 'slow', 'suspended', 'revoked', 'unknown', 'garbage', 'absent'] as const;
/**
 * `settings` belongs to an account of its own: a change of an account's settings would change the answers of all its
 * requests.
 */
export type KeyName = (typeof goodKeys)[number] | (typeof badKeys)[number] | 'settings' | 'operator';

export type FuzzRequest = {
  /** Null: no operation of the document. */
  readonly operation: string | null;
  readonly method: string;
  readonly path: string;
  readonly key: KeyName;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: FuzzBody;
};

export type FuzzBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly value: unknown }
  /** Octets as latin1. */
  | { readonly kind: 'raw'; readonly octets: string };
