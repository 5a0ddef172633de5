// The secrets of a webhook endpoint: what signs its requests. They are stored sealed with the body key, bound to the
// endpoint's id, in the database and in the directory alike; only the processes that sign or show them open them.
import { secretBytes } from '../platform/random.ts';
import type { WebhookEndpointId } from './ids.ts';
import type { BodyCipher } from './records/body-cipher.ts';
import type { WebhookEndpoint } from './webhook-endpoint.ts';

/** A secret, and until when it signs (milliseconds since the epoch); null: until it is rotated. */
export type WebhookSecret = { readonly secret: string; readonly untilMs: number | null };

/** Standard Webhooks: 24 to 64 octets; here 32, in base64 behind the prefix. */
export function newWebhookSecret(): string {
  return `${webhookSecretPrefix}${secretBytes(32).toString('base64')}`;
}
export const webhookSecretPrefix = 'whsec_';

export function sealWebhookSecrets(
  secrets: readonly WebhookSecret[],
  id: WebhookEndpointId,
  cipher: BodyCipher,
): string {
  return cipher.seal(Buffer.from(JSON.stringify(secrets)), id).toString('base64');
}

/** The secrets, the newest first. Throws when they belong to another endpoint or the body key is not known here. */
export function openWebhookSecrets(
  { id, sealedSecrets }: Pick<WebhookEndpoint, 'id' | 'sealedSecrets'>,
  cipher: BodyCipher,
): readonly WebhookSecret[] {
  return JSON.parse(cipher.open(Buffer.from(sealedSecrets, 'base64'), id).toString('utf8')) as WebhookSecret[];
}

/** Those that sign at this time: each of them makes one signature of a request, so that receivers can change over. */
export function signingSecrets(secrets: readonly WebhookSecret[], nowMs: number): readonly WebhookSecret[] {
  return secrets.filter(({ untilMs }) => untilMs === null || nowMs < untilMs);
}
