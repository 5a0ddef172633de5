// The body keys a single machine makes for itself: `secrets/body-key`, one key a line, the first one seals. An old key
// stays as long as something sealed with it may be kept, and only a person takes it away.
import { FixSetup } from '../../platform/errors.ts';
import { secretBytes } from '../../platform/random.ts';
import { type BodyKeys, bodyKeyId, parseBodyKeys } from '../bus/body-keys.ts';

/** A line is a key or `gone:<id>`, and since when it does not seal any more. */
type Line = { readonly entry: string; readonly retiredAtMs: number | null };

export type Rotation = {
  /** The new content of the file. */
  readonly text: string;
  readonly sealing: string;
  /** Old keys that stay, and how long something sealed with them may be kept. */
  readonly kept: readonly { readonly id: string; readonly untilMs: number }[];
  /** Old keys that were taken away. */
  readonly gone: readonly string[];
};

export function bodyKeysIn(text: string): BodyKeys {
  return parseBodyKeys(
    linesOf(text)
      .map(({ entry }) => entry)
      .join(','),
  );
}

/** Pure but for the new key. What was sealed with a key is kept for at most `keptMs` after another one took its place. */
export function rotated(text: string, nowMs: number, keptMs: number): Rotation {
  const lines = linesOf(text).map((line) => ({ ...line, retiredAtMs: line.retiredAtMs ?? nowMs }));
  for (const { retiredAtMs } of lines) {
    if (retiredAtMs > nowMs) throw new FixSetup('A body key was retired in the future: set the clock of this machine');
  }
  const key = secretBytes(32);
  const keys = lines.filter(({ entry }) => !entry.startsWith('gone:'));
  const kept = keys.filter(({ retiredAtMs }) => retiredAtMs + keptMs > nowMs);
  const idOf = ({ entry }: Line) => bodyKeyId(Buffer.from(entry, 'base64'));
  const gone = keys.filter((line) => !kept.includes(line)).map(idOf);
  return {
    text: [
      key.toString('base64'),
      ...kept.map(({ entry, retiredAtMs }) => `${entry} ${new Date(retiredAtMs).toISOString()}`),
      // Said for one rotation, so that the next start takes them out of what is in use.
      ...gone.map((id) => `gone:${id}`),
      '',
    ].join('\n'),
    sealing: bodyKeyId(key),
    kept: kept.map((line) => ({ id: idOf(line), untilMs: line.retiredAtMs + keptMs })),
    gone,
  };
}

function linesOf(text: string): Line[] {
  return text.split('\n').flatMap((line) => {
    const [entry, retiredAt] = line.trim().split(/\s+/);
    if (entry === undefined || entry === '') return [];
    return { entry, retiredAtMs: retiredAt === undefined ? null : Date.parse(retiredAt) };
  });
}
