// Stores incomplete multipart texts in the bucket `inbound`: encrypted, one entry per text, changed by compare-and-set
// only, so that any thread of any node may add its part.
import { createHash } from 'node:crypto';
import type { KV, KvEntry } from '@nats-io/kv';
import { Packr } from 'msgpackr';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { merge } from '../../cluster/bus/bucket.ts';
import { RejectMessage, RetryLater, ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { MultipartText } from './parts.ts';

const version = 1;
const packr = new Packr({ useRecords: false, variableMapSize: true });

/**
 * Stores what `change` returns; null leaves the text as it is. `change` is called again when another process was
 * faster, a few times: then it throws RetryLater. Throws RejectMessage for a text that is too large. Resolves with
 * the text as it is now.
 */
export async function mergeText(
  { texts, cipher }: { readonly texts: KV; readonly cipher: BodyCipher },
  key: string,
  change: (held: MultipartText | null) => Promise<MultipartText | null>,
): Promise<MultipartText | null> {
  let text: MultipartText | null = null;
  const sealed = async (entry: KvEntry | null) => {
    const held = entry === null ? null : decode(cipher, key, entry.value);
    const changed = await change(held);
    text = changed ?? held;
    return changed === null ? null : encode(cipher, key, changed);
  };
  if ((await merge(texts, key, sealed, limits.inbound.mergeTriesMax)) === 'ok') return text;
  throw new RetryLater('other parts of the same text came at the same moment', limits.bus.nakDelayMsMax);
}

function encode(cipher: BodyCipher, key: string, text: MultipartText): Uint8Array {
  const octets = cipher.seal(packr.pack([version, text]), key);
  if (octets.length <= limits.inbound.textBytesMax) return octets;
  throw new RejectMessage('text_too_large', `the parts of one text come to ${octets.length} octets`);
}

/** An entry of another version or body key: nothing can be added to it, so the text starts over. */
function decode(cipher: BodyCipher, key: string, value: Uint8Array): MultipartText | null {
  try {
    const [held, text] = packr.unpack(cipher.open(value, key)) as [number, MultipartText];
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

/** The name of a text as a key of the bucket. */
export const keyOfText = (name: string): string => createHash('sha256').update(name).digest('base64url').slice(0, 32);
