// The body of a subscriber's message, from its parts: octets of the same alphabet are joined before they are decoded,
// so that a character split over two parts is whole again. A missing part is marked; eight-bit data stays octets. Pure.
import type { Encoding, MessageBody } from './message.ts';
import { type Shift, noShift } from './text/national-languages.ts';
import { decodeText } from './text/octets.ts';

/**
 * binary: eight-bit data, or an unknown coding; kept as received. Records contain indexes of this list: append only.
 */
export const inboundAlphabets = ['gsm7', 'latin1', 'ucs2', 'cyrillic', 'hebrew', 'binary'] as const;
export type InboundAlphabet = (typeof inboundAlphabets)[number];

export type BodyPart = {
  readonly alphabet: InboundAlphabet;
  readonly dataCoding: number;
  /** National tables of a GSM-7 text; null where the header names none. */
  readonly shift: Shift | null;
  /** Without the UDH, one septet per octet in GSM-7. */
  readonly octets: Buffer;
};

/** Copies the fields of BodyPart and drops all others of `part`. */
export function bodyPartOf({ alphabet, dataCoding, shift, octets }: BodyPart): BodyPart {
  return { alphabet, dataCoding, shift, octets };
}

/** Marks where parts are missing. */
export const gapMark = '[…]';

/** The body of `parts` in order, null for a missing one. Octets instead of text when every part is binary. */
export function inboundBodyOf(parts: readonly (BodyPart | null)[]): MessageBody {
  const present = parts.filter((part) => part !== null);
  const [first] = present;
  if (first !== undefined && present.every(({ alphabet }) => alphabet === 'binary')) {
    return { octets: Buffer.concat(present.map(({ octets }) => octets)), dataCoding: first.dataCoding, udh: null };
  }
  let text = '';
  let run: BodyPart[] = [];
  const read = () => {
    if (run.length > 0) text += textOf(run);
    run = [];
  };
  for (const part of parts) {
    if (part === null || (run.length > 0 && !isSameAlphabet(run[0] as BodyPart, part))) read();
    if (part !== null) run.push(part);
    else if (!text.endsWith(gapMark)) text += gapMark;
  }
  read();
  return { text };
}

/** The encoding as published: every alphabet but UCS-2 has one octet per character. */
export function encodingOf(parts: readonly (BodyPart | null)[]): Encoding {
  return parts.some((part) => part?.alphabet === 'ucs2') ? 'ucs2' : 'gsm7';
}

function textOf(run: readonly BodyPart[]): string {
  const { alphabet, shift } = run[0] as BodyPart;
  const octets = Buffer.concat(run.map((part) => part.octets));
  switch (alphabet) {
    case 'gsm7':
      return decodeText(octets, gsm7, shift ?? noShift);
    case 'ucs2':
      return decodeText(octets, ucs2).toWellFormed();
    case 'cyrillic':
      return new TextDecoder('iso-8859-5').decode(octets);
    case 'hebrew':
      return new TextDecoder('iso-8859-8').decode(octets);
    default:
      return octets.toString('latin1');
  }
}

function isSameAlphabet(one: BodyPart, other: BodyPart): boolean {
  const [first, second] = [one.shift ?? noShift, other.shift ?? noShift];
  return one.alphabet === other.alphabet && first.locking === second.locking && first.single === second.single;
}

const gsm7 = 0;
const ucs2 = 8;
