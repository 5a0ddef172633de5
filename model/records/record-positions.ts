// Reads one position of a record that must hold a value of this type. They throw otherwise, and the caller reports the
// record as poison.

import type { WebhookEndpointId } from '../ids.ts';
import type { MessageCallback } from '../message.ts';

export function textAt(position: unknown): string {
  if (typeof position !== 'string') throw new Error('a text was expected');
  return position;
}

export function numberAt(position: unknown): number {
  if (typeof position !== 'number') throw new Error('a number was expected');
  return position;
}

/** What `callbackOf` reads. */
export const callbackPositions = ({ endpointId, url }: MessageCallback): readonly string[] => [endpointId, url];

export function callbackOf(position: unknown): { readonly callback?: MessageCallback } {
  if (!Array.isArray(position)) return withoutCallback;
  return { callback: { endpointId: textAt(position[0]) as WebhookEndpointId, url: textAt(position[1]) } };
}
const withoutCallback = {};
