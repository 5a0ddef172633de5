// The body keys of a single machine: `secrets/body-key`, one key per line, the first one seals. An old key stays as
// long as something sealed with it may be kept, and only a person removes it.
import { SetupError } from '../../platform/errors.ts';
import { secretBytes } from '../../platform/random.ts';
import { type BodyKeySource, type BodyKeys, bodyKeyId, parseBodyKeys } from '../../model/records/body-keys.ts';

/** A key or `gone:<id>`, and when it stopped sealing; the first start without it sets that. */
type Line = { readonly entry: string; readonly retiredAtMs: number | null };

export type Rotation = {
  /** The new content of the file. */
  readonly text: string;
  readonly sealing: string;
  /** Old keys that stay, and until when data sealed with them may be kept; null: counted from the next start. */
  readonly kept: readonly { readonly id: string; readonly untilMs: number | null }[];
  /** Old keys that were removed. */
  readonly gone: readonly string[];
};

/** `file`: for errors. */
export function bodyKeysIn(text: string, file = 'secrets/body-key'): BodyKeys {
  const entries = linesOf(text).map(({ entry }) => entry);
  return parseBodyKeys(entries.join(','), { name: file, advice: restoreAdvice });
}

const restoreAdvice: BodyKeySource['advice'] =
  'restore the file from a backup: another key opens nothing that this one sealed, such as messages that wait';

/**
 * Pure except for the new key. Data sealed with an old key is kept for up to `keptMs` after the next start, when the
 * new key begins to seal. `keptMs` null: unknown, so every key stays.
 */
export function rotated(text: string, nowMs: number, keptMs: number | null): Rotation {
  const lines = linesOf(text);
  if (waitsForStart(lines)) {
    throw new SetupError(
      'The key of the last rotation does not seal yet: stop Heliograph and start it again, before another rotation',
    );
  }
  for (const { retiredAtMs } of lines) {
    if (retiredAtMs !== null && retiredAtMs > nowMs)
      throw new SetupError('A body key was retired in the future: set the clock of this machine');
  }
  const key = secretBytes(32);
  const keys = lines.filter((line) => !isGone(line));
  const isKept = ({ retiredAtMs }: Line) => retiredAtMs === null || keptMs === null || retiredAtMs + keptMs > nowMs;
  const kept = keys.filter(isKept);
  const idOf = ({ entry }: Line) => bodyKeyId(Buffer.from(entry, 'base64'));
  const gone = keys.filter((line) => !kept.includes(line)).map(idOf);
  return {
    text: [
      key.toString('base64'),
      ...kept.map(lineText),
      // Kept for one rotation, so that the next start removes them from the keys in use.
      ...gone.map((id) => `gone:${id}`),
      '',
    ].join('\n'),
    sealing: bodyKeyId(key),
    kept: kept.map((line) => ({
      id: idOf(line),
      untilMs: line.retiredAtMs === null || keptMs === null ? null : line.retiredAtMs + keptMs,
    })),
    gone,
  };
}

/** Pure: the content after a start, when a new first key begins to seal; null: unchanged. */
export function startedWith(text: string, nowMs: number): string | null {
  const lines = linesOf(text);
  if (!waitsForStart(lines)) return null;
  const stamped = lines.map((line, at) =>
    at === 0 || isGone(line) ? line : { ...line, retiredAtMs: line.retiredAtMs ?? nowMs },
  );
  return [...stamped.map(lineText), ''].join('\n');
}

/** An old key that is not retired: nothing has started with the new one yet. */
const waitsForStart = (lines: readonly Line[]) =>
  lines.slice(1).some((line) => !isGone(line) && line.retiredAtMs === null);

const isGone = ({ entry }: Line) => entry.startsWith('gone:');
const lineText = ({ entry, retiredAtMs }: Line) =>
  retiredAtMs === null ? entry : `${entry} ${new Date(retiredAtMs).toISOString()}`;

function linesOf(text: string): Line[] {
  return text.split('\n').flatMap((line) => {
    const [entry, retiredAt] = line.trim().split(/\s+/);
    if (entry === undefined || entry === '') return [];
    const retiredAtMs = retiredAt === undefined ? null : Date.parse(retiredAt);
    // Never quotes the line: its other word is a key.
    if (Number.isNaN(retiredAtMs)) throw new SetupError('secrets/body-key: expected a time behind each retired key');
    return { entry, retiredAtMs };
  });
}
