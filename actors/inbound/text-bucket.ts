// Stores multipart texts that are not complete yet in the bucket `inbound`: sealed, one entry per text, changed by
// compare-and-set only, so that any thread of any node may add its part.
import { createHash } from 'node:crypto';
import type { KV } from '@nats-io/kv';
import { Packr } from 'msgpackr';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { isApiError, wrongLastSequence } from '../../cluster/bus/api-errors.ts';
import { RejectMessage, ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { MultipartText } from './parts.ts';

export type HeldText = { readonly text: MultipartText | null; readonly revision: number };

const version = 1;
const packr = new Packr({ useRecords: false, variableMapSize: true });

export class TextBucket {
  readonly #bucket: KV;
  readonly #cipher: BodyCipher;

  constructor(bucket: KV, cipher: BodyCipher) {
    this.#bucket = bucket;
    this.#cipher = cipher;
  }

  async get(key: string): Promise<HeldText> {
    const entry = await this.#bucket.get(key);
    if (entry === null) return { text: null, revision: 0 };
    return { text: entry.operation === 'PUT' ? this.#decode(key, entry.value) : null, revision: entry.revision };
  }

  /** False when another process changed it since it was read. Throws RejectMessage for one that is too large. */
  async put(key: string, text: MultipartText, revision: number): Promise<boolean> {
    const octets = this.#encode(key, text);
    if (octets.length > limits.inbound.textBytesMax) {
      throw new RejectMessage('text_too_large', `the parts of one text come to ${octets.length} octets`);
    }
    try {
      await this.#bucket.put(key, octets, { previousSeq: revision });
      return true;
    } catch (error) {
      if (!isApiError(error, wrongLastSequence)) throw error;
      return false;
    }
  }

  #encode(key: string, text: MultipartText): Uint8Array {
    return this.#cipher.seal(packr.pack([version, text]), key);
  }

  /** An entry of another version or body key: nothing can be added to it, so the text starts over. */
  #decode(key: string, value: Uint8Array): MultipartText | null {
    try {
      const [held, text] = packr.unpack(this.#cipher.open(value, key)) as [number, MultipartText];
      if (held !== version) return null;
      const parts = text.parts.map(
        (part) => part && { ...part, body: part.body && { ...part.body, octets: Buffer.from(part.body.octets) } },
      );
      return { ...text, parts };
    } catch (error) {
      ignoring(error, 'a long text from a subscriber cannot be read any more and starts over');
      return null;
    }
  }
}

/** The name of a text as a key of the bucket. */
export const keyOfText = (name: string): string => createHash('sha256').update(name).digest('base64url').slice(0, 32);
