// Which tables upgrades have filled from counts, and which of them a recorder has compared with these counts since
// (recorder/fill-check.ts): in the store itself, so that it is known whichever process is killed.
import { type Engine, slowRows } from './engine.ts';
import { type Fill, fillOf } from './fill.ts';

export function openFills(engine: Engine): Promise<void> {
  return engine.command(
    'CREATE TABLE IF NOT EXISTS schema_fills (version UInt32, view String, is_checked UInt8) ' +
      'ENGINE = ReplacingMergeTree(is_checked) ORDER BY (version, view)',
  );
}

/** Before anything is filled. What was compared since stays so. */
export function noteFill(engine: Engine, version: number, view: string): Promise<void> {
  return note(engine, [[version, view, 0]]);
}

/** What is to be compared with one of these sources. A view that a later version has dropped is not. */
export async function uncheckedFills(engine: Engine, sources: readonly string[]): Promise<Fill[]> {
  const rows = await slowRows(
    engine,
    `SELECT DISTINCT view FROM schema_fills FINAL WHERE is_checked = 0
       AND view IN (SELECT name FROM system.tables WHERE database = currentDatabase()) ORDER BY view`,
  );
  const fills: Fill[] = [];
  for (const [view] of rows) fills.push(await fillOf(engine, view as string));
  return fills.filter(({ source }) => sources.includes(source));
}

export async function markChecked(engine: Engine, { view }: Fill): Promise<void> {
  const rows = await slowRows(
    engine,
    'SELECT version, view, 1 FROM schema_fills FINAL WHERE is_checked = 0 AND view = {view:String}',
    { view },
  );
  await note(engine, rows);
}

async function note(engine: Engine, rows: readonly (readonly unknown[])[]): Promise<void> {
  const lines = rows.map((cells) => `${cells.join('\t')}\n`).join('');
  await engine.insert('schema_fills (version, view, is_checked)', Buffer.from(lines));
}
