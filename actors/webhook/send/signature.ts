// The headers of a request by the Standard Webhooks specification (https://www.standardwebhooks.com): an id that is the
// same in every repeat, the time of this try, and an HMAC-SHA256 over both and the body for each secret that signs.
import { webhookSecretPrefix } from '../../../model/webhook-secrets.ts';
import { hmacSha256 } from '../../../platform/one-shot-hmac.ts';

/** The keys of secrets such as `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`. */
export function signingKeys(secrets: readonly string[]): readonly Buffer[] {
  return secrets.map((secret) => Buffer.from(secret.slice(webhookSecretPrefix.length), 'base64'));
}

/**
 * ```ts
 * signedHeaders('evt_1', 1_700_000_000, body, signingKeys(['whsec_…']));
 * // { 'webhook-id': 'evt_1', 'webhook-timestamp': '1700000000', 'webhook-signature': 'v1,K5oZf…=' }
 * ```
 * `atS`: seconds since the epoch. Several signatures are separated by a blank; a receiver accepts any of them.
 */
export function signedHeaders(id: string, atS: number, body: string, keys: readonly Buffer[]): Record<string, string> {
  const signed = `${id}.${atS}.${body}`;
  const signatures = keys.map((key) => `v1,${hmacSha256(key, signed, 'base64')}`);
  return { 'webhook-id': id, 'webhook-timestamp': String(atS), 'webhook-signature': signatures.join(' ') };
}
