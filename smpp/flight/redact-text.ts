// The masking of a text or an address for redact.ts: keeps a user data header and the fields of a receipt, hides the
// rest. In place; lengths stay.
import { isReceipt } from '../receipt.ts';

const star = 0x2a;

/** Asterisks in the alphabet of the text. */
export function hide(pdu: Buffer, from: number, end: number, dataCoding: number): void {
  pdu.fill(star, from, end);
  if (!isUcs2(dataCoding)) return;
  for (let at = from; at < end; at += 2) pdu[at] = 0;
}

/** `8801712345678` → `880171*****78`: as in the logs, but with at least five digits hidden. A name is kept. */
export function maskAddress(pdu: Buffer, from: number, end: number): void {
  let digits = 0;
  let letters = 0;
  for (let at = from; at < end; at += 1) {
    const octet = pdu[at]!;
    if (octet >= 0x30 && octet <= 0x39) digits += 1;
    else if ((octet | 0x20) >= 0x61 && (octet | 0x20) <= 0x7a) letters += 1;
  }
  if (letters > 0 && digits < 6 && end - from <= 20) return;
  const length = end - from;
  const head = Math.min(6, Math.max(0, length - 7));
  const tail = length > 6 ? 2 : 0;
  for (let at = from + head; at < end - tail; at += 1) pdu[at] = star;
}

/** short_message or message_payload. */
export function redactText(pdu: Buffer, from: number, end: number, esmClass: number, dataCoding: number): void {
  if (from >= end) return;
  const at = (esmClass & 0x40) === 0 ? from : redactHeader(pdu, from, end);
  if (isReceipt(esmClass)) redactReceipt(pdu, at, end, isUcs2(dataCoding) ? 2 : 1);
  else hide(pdu, at, end, dataCoding);
}

function isUcs2(dataCoding: number): boolean {
  return (dataCoding & 0xcc) === 0x08;
}

/** Sizes of the information elements that describe concatenation, ports and tables: others could be content. */
const elementOctets: Readonly<Record<number, number>> = { 0x00: 3, 0x04: 2, 0x05: 4, 0x08: 4, 0x24: 1, 0x25: 1 };

/** Returns the end of the header. */
function redactHeader(pdu: Buffer, from: number, end: number): number {
  const stop = from + 1 + pdu[from]!;
  if (stop > end) {
    pdu.fill(0, from, end);
    return end;
  }
  let at = from + 1;
  while (at + 2 <= stop && at + 2 + pdu[at + 1]! <= stop) {
    const size = pdu[at + 1]!;
    if (elementOctets[pdu[at]!] !== size) pdu.fill(0, at + 2, at + 2 + size);
    at += 2 + size;
  }
  pdu.fill(0, at, stop);
  return stop;
}

type Key = { readonly name: string; readonly valueMax: number; readonly isText?: boolean };
/** By first letter. `_` matches a blank, a dash, an underscore or nothing, as in receipt.ts. */
const keys: Readonly<Record<number, readonly Key[]>> = {
  0x69: [{ name: 'id', valueMax: 64 }],
  0x73: [
    { name: 'sub', valueMax: 3 },
    { name: 'submit_date', valueMax: 14 },
    { name: 'stat', valueMax: 13 },
  ],
  0x64: [
    { name: 'dlvrd', valueMax: 3 },
    { name: 'done_date', valueMax: 14 },
  ],
  0x65: [{ name: 'err', valueMax: 8 }],
  0x74: [{ name: 'text', valueMax: 0, isText: true }],
};

// Keeps known `key:value` pairs and hides everything else; `text:` ends it, because the client's text follows. `step`
// is octets per character; the last one is compared, so only ASCII is ever kept.
function redactReceipt(pdu: Buffer, from: number, end: number, step: 1 | 2): void {
  let at = from;
  while (at < end) {
    const found = keyAt(pdu, at, end, step);
    if (found !== null) {
      if (found.key.isText === true) return hideCharacters(pdu, found.end, end, step);
      at = skipBlanks(pdu, found.end, end, step);
      // `stat: text:` is an empty value, and the client's text follows.
      if (at > found.end && keyAt(pdu, at, end, step) !== null) continue;
      at = keepValue(pdu, at, end, step, found.key.valueMax);
      continue;
    }
    if (isSeparator(characterAt(pdu, at, end, step))) at += step;
    else {
      const stop = wordEnd(pdu, at, end, step);
      hideCharacters(pdu, at, stop, step);
      at = stop;
    }
  }
}

function keyAt(pdu: Buffer, from: number, end: number, step: 1 | 2): { key: Key; end: number } | null {
  const candidates = keys[characterAt(pdu, from, end, step) | 0x20];
  if (candidates === undefined) return null;
  for (const key of candidates) {
    let at = from;
    let matched = true;
    for (let place = 0; place < key.name.length && matched; place += 1) {
      const wanted = key.name.charCodeAt(place);
      const found = characterAt(pdu, at, end, step);
      if (wanted === 0x5f) at += found === 0x20 || found === 0x2d || found === 0x5f ? step : 0;
      else {
        matched = (found | 0x20) === wanted;
        at += step;
      }
    }
    if (!matched) continue;
    at = skipBlanks(pdu, at, end, step);
    const colon = characterAt(pdu, at, end, step);
    if (colon === 0x3a || colon === 0x3d) return { key, end: at + step };
  }
  return null;
}

function keepValue(pdu: Buffer, from: number, end: number, step: 1 | 2, max: number): number {
  const stop = wordEnd(pdu, from, end, step);
  let isPlain = stop - from <= max * step;
  for (let at = from; at < stop && isPlain; at += step) isPlain = isIdCharacter(characterAt(pdu, at, end, step));
  if (!isPlain) hideCharacters(pdu, from, stop, step);
  return stop;
}

function wordEnd(pdu: Buffer, from: number, end: number, step: 1 | 2): number {
  let at = from;
  while (at < end && !isSeparator(characterAt(pdu, at, end, step))) at += step;
  return Math.min(at, end);
}

function skipBlanks(pdu: Buffer, from: number, end: number, step: 1 | 2): number {
  let at = from;
  while (at < end && characterAt(pdu, at, end, step) === 0x20) at += step;
  return at;
}

/** 0xff for a character that is not ASCII or is after the end. */
function characterAt(pdu: Buffer, at: number, end: number, step: 1 | 2): number {
  if (at + step > end) return 0xff;
  if (step === 2 && pdu[at] !== 0) return 0xff;
  return pdu[at + step - 1]!;
}

function isSeparator(character: number): boolean {
  return character === 0x20 || character === 0x2c || character === 0x3b || character === 0x0a || character === 0x0d;
}

function isIdCharacter(character: number): boolean {
  if (character >= 0x30 && character <= 0x39) return true;
  if ((character | 0x20) >= 0x61 && (character | 0x20) <= 0x7a) return true;
  return character === 0x2d || character === 0x2e || character === 0x5f;
}

function hideCharacters(pdu: Buffer, from: number, end: number, step: 1 | 2): void {
  hide(pdu, from, end, step === 2 ? 8 : 0);
}
