// What records that are msgpack arrays share: how they are written and read as a whole, and how one position is read that
// must hold a value of some type. The rule for positions is in message-record.ts.
import { Packr } from 'msgpackr';
import { RejectMessage } from '../../platform/errors.ts';
import type { WebhookEndpointId } from '../ids.ts';
import type { MessageCallback } from '../message.ts';

// No msgpackr records: shared structures that differ between processes decode to wrong fields silently.
export const packr = new Packr({ useRecords: false });

/**
 * A function that reads records of this version, by their positions. It throws RejectMessage('poison_record') where `read`
 * throws, and for octets that are no such record. `what` names the record in its message.
 */
export function decoder<Read, Cipher = void>(
  what: string,
  version: number,
  read: (at: readonly unknown[], cipher: Cipher) => Read,
): (octets: Uint8Array, cipher: Cipher) => Read {
  return (octets, cipher) => {
    try {
      const at = packr.unpack(octets) as readonly unknown[];
      if (!Array.isArray(at) || at[0] !== version) throw new Error(`record version ${String(at?.[0])}`);
      return read(at, cipher);
    } catch (error) {
      throw new RejectMessage('poison_record', `not a readable ${what}: ${String(error)}`);
    }
  };
}

export function textAt(position: unknown): string {
  if (typeof position !== 'string') throw new Error('a text was expected');
  return position;
}

export function numberAt(position: unknown): number {
  if (typeof position !== 'number') throw new Error('a number was expected');
  return position;
}

/** The position has an index of `list`; `what` names its items. */
export function oneAt<Item>(list: readonly Item[], position: unknown, what: string): Item {
  const item = list[numberAt(position)];
  if (item === undefined) throw new Error(`${what} was expected`);
  return item;
}

export const textOrNull = (position: unknown): string | null => (typeof position === 'string' ? position : null);

/** What `callbackOf` reads. */
export const callbackFields = ({ endpointId, url }: MessageCallback): readonly string[] => [endpointId, url];

export function callbackOf(position: unknown): { readonly callback?: MessageCallback } {
  if (!Array.isArray(position)) return withoutCallback;
  return { callback: { endpointId: textAt(position[0]) as WebhookEndpointId, url: textAt(position[1]) } };
}
const withoutCallback = {};
