// Attempts of one endpoint as octets in WEBHOOK_ATTEMPTS: a msgpack array with frozen positions for each, together sealed
// with the body key and bound to the endpoint.
import { Packr } from 'msgpackr';
import type { WebhookEndpointId } from '../../../model/ids.ts';
import type { BodyCipher } from '../../../model/records/body-cipher.ts';
import { numberAt, textAt } from '../../../model/records/record-positions.ts';
import { RejectMessage } from '../../../platform/errors.ts';
import type { DeliveryAttempt } from '../contract.ts';
import { sendErrors } from '../send/send-error.ts';

export const attemptRecordVersion = 1;

const packr = new Packr({ useRecords: false });

export function encodeAttempts(
  attempts: readonly DeliveryAttempt[],
  endpointId: WebhookEndpointId,
  cipher: BodyCipher,
): Buffer {
  return cipher.seal(packr.pack([attemptRecordVersion, ...attempts.map(positionsOf)]), endpointId);
}

/** Throws RejectMessage('poison_record') when the octets are of no version that is known, or the body key is gone. */
export function decodeAttempts(
  octets: Uint8Array,
  endpointId: WebhookEndpointId,
  cipher: BodyCipher,
): readonly DeliveryAttempt[] {
  try {
    const [version, ...attempts] = packr.unpack(cipher.open(octets, endpointId)) as readonly unknown[];
    if (version !== attemptRecordVersion) throw new Error(`record version ${String(version)}`);
    return attempts.map((each) => attemptOf(each as readonly unknown[]));
  } catch (error) {
    throw new RejectMessage('poison_record', `not a readable record of attempts: ${String(error)}`);
  }
}

function positionsOf(of: DeliveryAttempt): readonly unknown[] {
  const { request, response } = of;
  return [
    of.id,
    of.webhookId,
    of.eventIds,
    of.type,
    of.atMs,
    of.url,
    of.attempt,
    of.error,
    of.detail,
    of.status,
    of.latencyMs,
    [request.headers, request.body, request.bodyChars],
    response === null ? null : [response.headers, response.body],
  ];
}

function attemptOf(at: readonly unknown[]): DeliveryAttempt {
  const [request, response] = [at[11] as readonly unknown[], at[12] as readonly unknown[] | null];
  return {
    id: textAt(at[0]),
    webhookId: textAt(at[1]),
    eventIds: (at[2] as readonly unknown[]).map(textAt),
    type: textAt(at[3]),
    atMs: numberAt(at[4]),
    url: textAt(at[5]),
    attempt: numberAt(at[6]),
    // A word of a later version is shown as a failure all the same.
    error: at[7] === null ? null : (sendErrors.find((each) => each === at[7]) ?? 'internal_error'),
    detail: textAt(at[8]),
    status: at[9] === null ? null : numberAt(at[9]),
    latencyMs: numberAt(at[10]),
    request: {
      headers: request[0] as Record<string, string>,
      body: textAt(request[1]),
      bodyChars: numberAt(request[2]),
    },
    response: response === null ? null : { headers: response[0] as Record<string, string>, body: textAt(response[1]) },
  };
}
