// Checks whether the text can be sent: not empty, nothing a network would cut off, and few enough segments. U+0000
// and unpaired surrogates are refused: telephones end a text at the first and show the second as garbage, and
// carriers change both.
import type { NationalLanguage } from '../../model/text/national-languages.ts';
import { type EncodingMismatch, type SegmentCount, countSegments } from '../../model/text/segment-count.ts';
import { segmentUnits } from '../../model/text/segment-capacity.ts';
import { transliterate, writeInGsm } from '../../model/text/transliterate.ts';
import { limits } from '../../platform/limits.ts';
import type { Principal, Refusal, SmsRequest } from '../contract.ts';

const { segmentsMax, textUnitsMax } = limits.message;

/**
 * The text the recipient will read: with `transliterate`, in GSM-7 where all of it can be written so. It comes before
 * the gates of the text, because a forbidden word in look-alikes becomes the word itself.
 */
export function textToSend(
  text: string,
  { transliterate: isAllowed, encoding }: SmsRequest,
  nationalTables: readonly NationalLanguage[],
): string {
  if (!isAllowed || text.length > textUnitsMax) return text;
  return writeInGsm(text, encoding, nationalTables).text;
}

/**
 * The first gate of a text: everything behind it may read the text as often as it needs. No text of more UTF-16 units
 * fits into a message in either encoding.
 */
export function lengthGate(_principal: Principal, { message: { length } }: SmsRequest): Refusal | null {
  return length > textUnitsMax ? no('message_too_long', tooLong(`has ${length} characters`)) : null;
}

export function contentGate(_principal: Principal, request: SmsRequest): Refusal | null {
  const { message } = request;
  if (isBlank(message)) return no('message_empty', 'must contain at least one character that can be seen');
  if (message.includes('\u0000')) return no('invalid_field', 'must not contain the character U+0000: remove it');
  if (!message.isWellFormed()) {
    return no('invalid_field', 'contains half of a surrogate pair: cut texts at whole characters');
  }
  return null;
}

/** Nearly every text begins with a letter: then nothing has to be looked for. */
function isBlank(text: string): boolean {
  const first = text.charCodeAt(0);
  return !(first > 0x20 && first < 0x7f) && blank.test(text);
}

// Spaces, controls, what Unicode itself calls ignorable (zero-width spaces, fillers), and braille without a dot.
const blank = /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/**
 * Asked with a text of textToSend that is not too long, and with the tables that all carriers of its route understand.
 */
export function segmentsGate(request: SmsRequest, nationalTables: readonly NationalLanguage[]): SegmentCount | Refusal {
  const counted = countText(request, nationalTables);
  if (!counted.ok) return no('encoding_mismatch', foreignCharacter(counted.character, counted.index));
  if (counted.segmentCount <= segmentsMax) return counted;
  return no('message_too_long', tooLong(`takes ${counted.segmentCount} segments of ${counted.encoding}`));
}

/** Where transliteration is allowed, the character to blame is one that it cannot help. */
export function countText(
  { message, encoding, transliterate: isAllowed }: SmsRequest,
  nationalTables: readonly NationalLanguage[],
): SegmentCount | EncodingMismatch {
  return isAllowed
    ? writeInGsm(message, encoding, nationalTables).counted
    : countSegments(message, encoding, nationalTables);
}

const roomMax = `${segmentsMax} segments, which are ${textUnitsMax} characters of GSM-7 or ${segmentsMax * segmentUnits.ucs2.multi8} of UCS-2`;
const tooLong = (found: string) => `${found}, at most ${roomMax}, are allowed: shorten it`;

function foreignCharacter(character: string, index: number): string {
  const point = (character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0');
  const found = `"${character}" (U+${point}, position ${index}) is not in GSM-7`;
  const alternative = transliterate(character) === character ? '' : 'set transliterate to true, ';
  return `${found}: ${alternative}remove it or use encoding "auto"`;
}

function no(
  code: 'message_empty' | 'message_too_long' | 'encoding_mismatch' | 'invalid_field',
  detail: string,
): Refusal {
  return { ok: false, code, field: 'message', detail };
}
