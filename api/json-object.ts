// Parses the body of a request as one JSON object, for both servers. A repeated field is refused: RFC 8259 section 4
// leaves open which value counts, and for `to` another choice is another recipient. It runs for every message, so it
// first compares the number of keys in the octets with the parsed object and searches only if they differ.
import { isUtf8 } from 'node:buffer';
import { messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { thousands } from '../platform/thousands.ts';
import { type OrProblem, problem, shortName, wrongField } from './problem.ts';

type ParsedObject = OrProblem<{ readonly fields: Record<string, unknown> }>;

/** Parses the body; its fields are not checked. */
export function parseObject(body: Buffer): ParsedObject {
  if (!isUtf8(body)) return refused('the body is not UTF-8');
  const counted = countKeys(body);
  if (counted.excess !== null) return refused(`the body has more than ${counted.excess}`);
  const text = body.toString('utf8');
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return refused(`the body is not JSON: ${messageOf(error).slice(0, 200)}`);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return refused('the body must be one JSON object');
  }
  const isRepeated = counted.keys !== keysOf(parsed);
  const field = isRepeated ? firstRepeated(text) : null;
  if (field === null) return { ok: true, fields: parsed as Record<string, unknown> };
  return { ok: false, problem: wrongField(shortName(field), 'must be given only once') };
}

const [quote, escape, openList, closeList, openObject, closeObject] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d] as const;
const [space, colon] = [0x20, 0x3a] as const;

const { bodyDepthMax, objectFieldsMax } = limits.http;
const tooDeep = `${bodyDepthMax} objects and lists within one another`;
const tooManyFields = `${thousands(objectFieldsMax)} fields in one object`;
/** The fields of the innermost object at each depth so far. One for all bodies: a scan is never interrupted. */
const fieldsAt = new Uint16Array(bodyDepthMax + 1);

/**
 * The keys of a body that is JSON, or what it has too much of, before it is parsed; of other octets it says nothing.
 * Octets above 0x7f are parts of letters, and outside of strings JSON has a colon only after a key.
 */
function countKeys(body: Buffer): { readonly keys: number; readonly excess: string | null } {
  let depth = 0;
  let keys = 0;
  let isText = false;
  for (let at = 0; at < body.length; at += 1) {
    const octet = body[at];
    if (isText) {
      if (octet === escape) at += 1;
      else if (octet === quote) isText = false;
    } else if (octet === quote) {
      isText = true;
    } else if (octet === colon) {
      keys += 1;
      const fields = (fieldsAt[depth] as number) + 1;
      if (fields > objectFieldsMax) return { keys, excess: `${tooManyFields}, at octet ${at + 1}` };
      fieldsAt[depth] = fields;
    } else if (octet === openList || octet === openObject) {
      depth += 1;
      if (depth > bodyDepthMax) return { keys, excess: `${tooDeep}, at octet ${at + 1}` };
      fieldsAt[depth] = 0;
    } else if ((octet === closeList || octet === closeObject) && depth > 0) {
      depth -= 1;
    }
  }
  return { keys, excess: null };
}

function refused(detail: string): ParsedObject {
  return { ok: false, problem: problem(400, 'invalid_json', detail) };
}

/** The values of an object with thousands of fields are read one by one: Object.values takes twice the time. */
function keysOf(root: unknown): number {
  const found = [root];
  let keys = 0;
  for (const value of found) {
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      for (const each of value as unknown[]) if (typeof each === 'object') found.push(each);
      continue;
    }
    const names = Object.keys(value);
    keys += names.length;
    for (const name of names) {
      const each = (value as Record<string, unknown>)[name];
      if (typeof each === 'object') found.push(each);
    }
  }
  return keys;
}

/** The position of the closing quote: the next one after an even number of backslashes. */
function endOfString(text: string, open: number): number {
  for (let end = text.indexOf('"', open + 1); ; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === escape) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
}

/** Outside of strings, JSON has a colon only after a key. */
function isKey(text: string, end: number): boolean {
  let next = end + 1;
  while (text.charCodeAt(next) <= space) next += 1;
  return text.charCodeAt(next) === colon;
}

/** The path of a repeated field, such as `messages[3].to`. `open`: the enclosing objects with their keys so far and the last key, and lists with the current index. */
function firstRepeated(text: string): string | null {
  const open: { readonly keys: Set<string> | null; at: string | number }[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    const innermost = open.at(-1);
    if (char === '{') open.push({ keys: new Set(), at: '' });
    else if (char === '[') open.push({ keys: null, at: 0 });
    else if (char === '}' || char === ']') open.pop();
    else if (char === ',' && typeof innermost?.at === 'number') innermost.at += 1;
    if (char !== '"') continue;
    const end = endOfString(text, at);
    if (innermost?.keys != null && isKey(text, end)) {
      const key = JSON.parse(text.slice(at, end + 1)) as string;
      innermost.at = key;
      if (innermost.keys.has(key)) return open.map(stepOf).join('');
      innermost.keys.add(key);
    }
    at = end;
  }
  return null;
}

const stepOf = ({ at }: { readonly at: string | number }, depth: number) =>
  typeof at === 'number' ? `[${at}]` : `${depth > 0 ? '.' : ''}${at}`;
