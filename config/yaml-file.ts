// Parses a YAML file into its content and the position of each node. Throws BadConfiguration for invalid YAML, or
// aliases that expand without bound. Problems are lines with file, line and column: `heliograph.yaml:14:10:
// carriers[0].tps: found "fast", expected a whole number from 1 to 100,000`.
import { LineCounter, parseDocument, type Document, isMap, isNode, isScalar } from 'yaml';
import { messageOf } from '../platform/errors.ts';
import { BadConfiguration } from './bad-configuration.ts';
import type { z } from 'zod';
import { keysAll } from './fields.ts';
import { nearestName, changesMaxOf } from '../platform/nearest-name.ts';

export function readYaml(text: string, fileName: string): { readonly place: Place; readonly content: unknown } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true, version: '1.2' });
  if (document.errors.length > 0) {
    throw new BadConfiguration(
      document.errors.map((error) => {
        const { line, col } = lines.linePos(error.pos[0]);
        return `${fileName}:${line}:${col}: not valid YAML: ${error.message}`;
      }),
    );
  }
  const place: Place = { fileName, document, lines };
  return { place, content: contentOf(place) };
}

function contentOf({ document, fileName }: Place): unknown {
  try {
    // Aliases in a file of a few lines must not expand into gigabytes.
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new BadConfiguration([`${fileName}:1:1: cannot be unfolded: ${messageOf(error)}`]);
  }
}

type Issue = z.core.$ZodIssue;

export type Place = {
  fileName: string;
  document: Document;
  lines: LineCounter;
};

export function problemsOf(place: Place, issues: readonly Issue[]): string[] {
  return issues.flatMap((issue) => problemLines(place, issue, []));
}

/** `file:line:column: path: text`, at the value of the path or its nearest existing parent. */
export function problemAt(place: Place, path: readonly PropertyKey[], text: string, onKey = false): string {
  const offset = onKey ? keyOffset(place.document, path) : valueOffset(place.document, path);
  const { line, col } = place.lines.linePos(offset);
  const name = pathText(path);
  return `${place.fileName}:${line}:${col}: ${name === '' ? '' : `${name}: `}${text}`;
}

function problemLines(place: Place, issue: Issue, base: readonly PropertyKey[]): string[] {
  const path = [...base, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      return problemAt(place, [...path, key], `unknown key "${key}"${hintFor(key)}`, true);
    });
  }
  // A union fails as a whole; the branch that got furthest has the actual problem.
  if (issue.code === 'invalid_union') {
    const deepest = issue.errors.find((branch) =>
      branch.some((each) => each.path.length > 0 || each.code === 'unrecognized_keys'),
    );
    if (deepest !== undefined) return deepest.flatMap((each) => problemLines(place, each, path));
  }
  if (issue.code === 'invalid_key') {
    const expected = issue.issues[0]?.message ?? 'another key';
    return [problemAt(place, path, `found the key ${JSON.stringify(path.at(-1))}, expected ${expected}`, true)];
  }
  return [problemAt(place, path, `${foundText(place.document, path)}, expected ${issue.message}`)];
}

function hintFor(key: string): string {
  if (keysAll.has(key)) return ' here: it is a key of another section';
  const near = nearestName(key.toLowerCase(), keysAll, changesMaxOf(key));
  return near === null ? '' : `, did you mean "${near}"?`;
}

function foundText(document: Document, path: readonly PropertyKey[]): string {
  const node = document.getIn(path, true);
  if (node === undefined) return 'missing';
  const value = isNode(node) ? node.toJSON() : node;
  if (value === null) return 'found nothing';
  if (Array.isArray(value)) return `found a list of ${value.length}`;
  if (typeof value === 'object') return 'found a map';
  // Passwords must not be printed on a terminal.
  if (path.at(-1) === 'password') return 'found another value';
  return `found ${JSON.stringify(value).slice(0, 80)}`;
}

function valueOffset(document: Document, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) {
      // A missing key is reported at the start of its map: at the map's own key if it has one.
      return length === path.length ? node.range[0] : keyOffset(document, path.slice(0, length));
    }
  }
  return document.contents?.range?.[0] ?? 0;
}

function keyOffset(document: Document, path: readonly PropertyKey[]): number {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const last = path.at(-1);
  if (isMap(parent)) {
    const pair = parent.items.find(({ key }) => isScalar(key) && String(key.value) === String(last));
    if (pair !== undefined && isNode(pair.key) && pair.key.range) return pair.key.range[0];
  }
  const own = document.getIn(path, true);
  if (isNode(own) && own.range) return own.range[0];
  return isNode(parent) && parent.range ? parent.range[0] : 0;
}

function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`))
    .join('');
}
