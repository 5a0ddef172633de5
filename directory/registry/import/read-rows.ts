// Reads the rows of an import into entries, with a checkpoint every million rows. Bad rows are counted and the first
// ones reported with their line; too many mean that it is the wrong file.
import { limits } from '../../../platform/limits.ts';
import { thousands } from '../../../platform/thousands.ts';
import { SetupError } from '../../../platform/errors.ts';
import { systemClock } from '../../../platform/clock.ts';
import { type Columns, headingOf, rowReader, usualColumns, withoutMark } from '../../../policy/registry/row.ts';
import type { Marks } from './marks.ts';
import type { Source } from './source.ts';
import type { Checkpoint, Staging } from './staging.ts';
import type { Configuration } from '../../../config/configuration.ts';
import type { RegistryName } from '../../../policy/registry/contract.ts';

export type ImportOrder = {
  readonly name: RegistryName;
  readonly file: string;
  /** Rows begin with + or −, and change the version in effect. */
  readonly delta: boolean;
  readonly badRowsMax: number;
  /** Allows a snapshot to remove most of the present numbers. */
  readonly allowShrink: boolean;
  readonly dataDir: string;
  readonly configuration: Configuration;
  readonly onProgress: (text: string) => void;
};

export type RowsRead = Readonly<Pick<Checkpoint, 'lines' | 'entries' | 'notServed' | 'badRows' | 'shown'>>;

type ReadParts = {
  readonly order: ImportOrder;
  readonly source: Source;
  readonly staging: Staging;
  readonly found: Checkpoint | null;
  readonly marks: Marks;
  readonly identity: string;
};

const { badRowsShown, checkpointRows, deltaRowsMax, numbersMax, rowBytesMax } = limits.registry;
const progressEveryMs = 1_000;

export async function readRows(parts: ReadParts): Promise<RowsRead> {
  const { order, source, staging, found, marks, identity } = parts;
  const state = found === null ? newCheckpoint(identity, order.delta) : { ...found, shown: [...found.shown] };
  const rules = { country: order.configuration.country, delta: order.delta, markOf: marks.markOf };
  let read = rowReader(rules, state.columns);
  const fresh = new Float64Array(checkpointRows);
  let freshCount = 0;
  const rowsMax = order.delta ? deltaRowsMax : numbersMax * 2;
  const progress = everySecond(order, state);

  const save = () => {
    state.names = marks.names();
    staging.save(fresh.subarray(0, freshCount), state);
    freshCount = 0;
  };
  const oneLine = (whole: string) => {
    let line = whole;
    state.lines += 1;
    if (state.lines === 1) {
      line = withoutMark(line);
      const columns = headingOf(line, order.delta);
      if (columns !== null && 'why' in columns) {
        throw new SetupError(`${order.file}: ${columns.why}; nothing was changed`);
      }
      if (columns !== null) {
        state.columns = columns;
        read = rowReader(rules, columns);
        return;
      }
    }
    const row = line.length > rowBytesMax ? tooLong : read(line);
    if (row.kind === 'entry') {
      fresh[freshCount] = row.entry;
      freshCount += 1;
      state.entries += 1;
    } else if (row.kind === 'not_served') state.notServed += 1;
    else if (row.kind === 'bad') badRow(order, state, row.why);
  };

  for await (const { lines, offsets, share } of source.lines(state.offset)) {
    for (let at = 0; at < lines.length; at += 1) {
      oneLine(lines[at] as string);
      state.offset = offsets[at] as number;
      if (freshCount === checkpointRows) save();
    }
    if (state.entries > rowsMax) throw new SetupError(`${order.file}: more than ${rowsMax} rows; nothing was changed`);
    progress(share);
  }
  save();
  const { lines, entries, notServed, badRows, shown } = state;
  return { lines, entries, notServed, badRows, shown };
}

const tooLong = { kind: 'bad', why: `longer than ${rowBytesMax} characters` } as const;

function newCheckpoint(identity: string, delta: boolean): Checkpoint {
  const columns: Columns = usualColumns(delta);
  return { identity, offset: 0, columns, lines: 0, entries: 0, notServed: 0, badRows: 0, shown: [], names: [] };
}

function badRow(order: ImportOrder, state: Checkpoint, why: string): void {
  state.badRows += 1;
  if (state.shown.length < badRowsShown) state.shown.push(`line ${state.lines}: ${why}`);
  if (state.badRows <= order.badRowsMax) return;
  throw new SetupError(
    [
      `${order.file}: more than ${order.badRowsMax} rows cannot be read; nothing was changed. The first ones:`,
      ...state.shown.map((each) => `  ${each}`),
      'If the rest is right, allow more with --bad-rows-max.',
    ].join('\n'),
  );
}

function everySecond(order: ImportOrder, state: Checkpoint): (share: number) => void {
  const beganMs = systemClock.monotonicMs();
  const linesBefore = state.lines;
  let nextMs = beganMs + progressEveryMs;
  return (share) => {
    const nowMs = systemClock.monotonicMs();
    if (nowMs < nextMs) return;
    nextMs = nowMs + progressEveryMs;
    const perSecond = ((state.lines - linesBefore) * 1_000) / (nowMs - beganMs);
    const percent = Math.min(100, Math.round(share * 100));
    order.onProgress(
      `read ${percent} %: ${thousands(state.lines)} rows, ${thousands(Math.round(perSecond * 60))} per minute`,
    );
  };
}
