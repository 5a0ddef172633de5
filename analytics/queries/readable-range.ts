// A part of a time whose rows one statement can read without occupying the engine for long. How many rows a time has, the
// engine says from its indexes alone. Without it, a statement that few rows match reads all rows of an account.
import { limits } from '../../platform/limits.ts';
import { type Engine, type Params, shownRows } from '../store/engine.ts';

/** Milliseconds since the epoch; `toMs` is excluded. */
export type Range = { readonly fromMs: number; readonly toMs: number };

type Statement = { readonly sql: string; readonly params: Params };

const { replayRowsMax: rowsMax, replaySpanMsMin: spanMsMin } = limits.queries;
/** Each attempt at a shorter time takes the engine some milliseconds. */
const shorterBy = 8;

/** The oldest or newest part of `whole`; all of it when its rows are few. `statementOf` reads those of a range. */
export async function readableRange(
  engine: Engine,
  whole: Range,
  part: 'oldest' | 'newest',
  statementOf: (range: Range) => Statement,
): Promise<Range> {
  let range = whole;
  for (;;) {
    const spanMs = range.toMs - range.fromMs;
    if (spanMs <= spanMsMin || (await rowsOf(engine, statementOf(range))) <= rowsMax) return range;
    const shorterMs = Math.max(spanMsMin, Math.floor(spanMs / shorterBy));
    range =
      part === 'oldest'
        ? { fromMs: range.fromMs, toMs: range.fromMs + shorterMs }
        : { fromMs: range.toMs - shorterMs, toMs: range.toMs };
  }
}

async function rowsOf(engine: Engine, { sql, params }: Statement): Promise<number> {
  const tables = await shownRows(engine, `EXPLAIN ESTIMATE ${sql}`, params);
  return tables.reduce((sum, [_database, _table, _parts, rows]) => sum + Number(rows), 0);
}

/**
 * Reads `whole` part by part, newest first, until `read` finds something or the time of a query is over. `openBeforeMs`:
 * what is older was not read; null when all was.
 */
export async function searchBack<T>(
  engine: Engine,
  whole: Range,
  {
    statementOf,
    read,
    giveUp,
  }: {
    readonly statementOf: (range: Range) => Statement;
    readonly read: (range: Range) => Promise<T | null>;
    readonly giveUp: () => boolean;
  },
): Promise<{ readonly found: T | null; readonly openBeforeMs: number | null }> {
  let { toMs } = whole;
  while (toMs > whole.fromMs) {
    const range = await readableRange(engine, { ...whole, toMs }, 'newest', statementOf);
    const found = await read(range);
    if (found !== null) return { found, openBeforeMs: null };
    toMs = range.fromMs;
    if (toMs > whole.fromMs && giveUp()) return { found: null, openBeforeMs: toMs };
  }
  return { found: null, openBeforeMs: null };
}
