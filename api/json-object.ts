// The body of a request as one JSON object, for both servers. A repeated field is refused: JSON.parse takes the last, other
// readers the first, and for `to` that is a message to another recipient (RFC 8259 section 4 leaves it open). It runs for every
// message, so it first compares the number of keys in the text with the parsed object and reads closely only where they
// differ.
import { isUtf8 } from 'node:buffer';
import { messageOf } from '../platform/errors.ts';
import { type Problem, problem, problemOfFields } from './problem.ts';

export type ParsedObject =
  | { readonly ok: true; readonly fields: Record<string, unknown> }
  | { readonly ok: false; readonly problem: Problem };

/** The body as one JSON object, whatever its fields are. */
export function parseObject(body: Buffer): ParsedObject {
  let text: string;
  let parsed: unknown;
  try {
    if (!isUtf8(body)) return { ok: false, problem: problem(400, 'invalid_json', 'the body is not UTF-8') };
    text = body.toString('utf8');
    parsed = JSON.parse(text);
  } catch (error) {
    return {
      ok: false,
      problem: problem(400, 'invalid_json', `the body is not JSON: ${messageOf(error).slice(0, 200)}`),
    };
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return { ok: false, problem: problem(400, 'invalid_json', 'the body must be one JSON object') };
  }
  const twice = refuseRepeatedKey(text, parsed);
  if (twice !== null) return { ok: false, problem: twice };
  return { ok: true, fields: parsed as Record<string, unknown> };
}

/** Null when no field comes twice. `text` is what gave `parsed`. */
function refuseRepeatedKey(text: string, parsed: object): Problem | null {
  const at = repeatedKey(text, parsed);
  if (at === null) return null;
  const field = at.slice(0, 64).toWellFormed();
  return problemOfFields(422, [{ field, code: 'invalid_field', detail: 'must be given only once' }]);
}

/** Where a field comes a second time, `messages[3].to`; null when none does. */
export function repeatedKey(text: string, parsed: unknown): string | null {
  return keysInText(text) === keysOf(parsed) ? null : firstRepeated(text);
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;

/** In JSON a colon outside of strings comes after a key and nowhere else. */
function keysInText(text: string): number {
  let keys = 0;
  for (let open = text.indexOf('"'); open !== -1; ) {
    const end = endOfString(text, open);
    const next = afterSpace(text, end + 1);
    if (text.charCodeAt(next) === colon) keys += 1;
    open = text.charCodeAt(next) === quote ? next : text.indexOf('"', next);
  }
  return keys;
}

/** Without recursion: a body may be nested deeper than a stack is. */
function keysOf(root: unknown): number {
  const rest: unknown[] = [root];
  let keys = 0;
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      for (const each of value) if (typeof each === 'object') rest.push(each);
      continue;
    }
    for (const name of Object.keys(value)) {
      keys += 1;
      const each = (value as Record<string, unknown>)[name];
      if (typeof each === 'object') rest.push(each);
    }
  }
  return keys;
}

/** The place of the closing quote. */
function endOfString(text: string, open: number): number {
  let end = text.indexOf('"', open + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text.charCodeAt(at - 1 - slashes) === backslash) slashes += 1;
  return slashes % 2 === 1;
}

function afterSpace(text: string, at: number): number {
  let next = at;
  while (isSpace(text.charCodeAt(next))) next += 1;
  return next;
}

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** An object or list that is open: the keys it had so far, or how many items were before. */
type Open = { readonly keys: Set<string> | null; at: string | number };

function firstRepeated(text: string): string | null {
  const open: Open[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const innermost = open.at(-1);
    switch (text[at]) {
      case '{':
        open.push({ keys: new Set(), at: '' });
        break;
      case '[':
        open.push({ keys: null, at: 0 });
        break;
      case '}':
      case ']':
        open.pop();
        break;
      case ',':
        if (innermost !== undefined && typeof innermost.at === 'number') innermost.at += 1;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (innermost?.keys != null && text.charCodeAt(afterSpace(text, end + 1)) === colon) {
          innermost.at = JSON.parse(text.slice(at, end + 1)) as string;
          if (innermost.keys.has(innermost.at)) return pathOf(open);
          innermost.keys.add(innermost.at);
        }
        at = end;
        break;
      }
    }
  }
  return null;
}

function pathOf(open: readonly Open[]): string {
  return open.map(({ at }, depth) => (typeof at === 'number' ? `[${at}]` : `${depth > 0 ? '.' : ''}${at}`)).join('');
}
