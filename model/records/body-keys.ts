// The body keys of an installation: the first one seals, all of them open. Every sealed body contains its key's id,
// which reveals nothing about the key.
import { createHmac } from 'node:crypto';
import { SetupError } from '../../platform/errors.ts';

export type BodyKeys = {
  /** 32 octets each; the first one seals. */
  readonly keys: readonly Buffer[];
  /** Ids of lost keys, confirmed by an operator: what they sealed goes to DEAD. */
  readonly gone: readonly string[];
};

const keyOctets = 32;
const goneForm = /^gone:([0-9a-f]{8})$/;
export const bodyKeyIdOctets = 4;

/** Where keys are given, and what to do when they are wrong. */
export type BodyKeySource = { readonly name: string; readonly advice: string };

const variable: BodyKeySource = { name: 'HELIOGRAPH_BODY_KEY', advice: 'make one with: openssl rand -base64 32' };

/** `key[,key…][,gone:<id>…]`, keys in base64. Throws SetupError naming the source and what was found. */
export function parseBodyKeys(text: string, source = variable): BodyKeys {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  const gone = entries.flatMap((entry) => goneForm.exec(entry)?.[1] ?? []);
  const keys = entries.filter((entry) => !goneForm.test(entry)).map((entry) => keyOf(entry, source));
  if (keys.length === 0) throw new SetupError(`${source.name}: found no key, expected ${expected} (${source.advice})`);
  if (new Set(keys.map(bodyKeyId)).size !== keys.length) {
    throw new SetupError(`${source.name}: found the same key twice`);
  }
  return { keys, gone };
}

/** The text that `parseBodyKeys` reads. */
export function bodyKeysText({ keys, gone }: BodyKeys): string {
  return [...keys.map((key) => key.toString('base64')), ...gone.map((id) => `gone:${id}`)].join(',');
}

/** Eight hexadecimal digits. */
export function bodyKeyId(key: Uint8Array): string {
  return createHmac('sha256', key)
    .update('heliograph body key id')
    .digest()
    .subarray(0, bodyKeyIdOctets)
    .toString('hex');
}

const expected = '32 bytes in base64';

function keyOf(entry: string, { name, advice }: BodyKeySource): Buffer {
  const key = Buffer.from(entry, 'base64');
  if (key.length === keyOctets) return key;
  throw new SetupError(`${name}: found ${key.length} bytes, expected ${expected} (${advice})`);
}
