// Which tables upgrades have filled from counts, and which of them a recorder has compared with these counts since
// (recorder/fill-check.ts): in the store itself, so that it is known whichever process is killed.
import { type Engine, slowRows } from './engine.ts';
import { fillOf } from './fill.ts';

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

/** A view, and the versions that have filled its table. */
export type UncheckedFill = { readonly view: string; readonly versions: readonly number[] };

/**
 * What is to be compared with one of these sources. Not what a version fills that is not applied yet: it may be filling now. A view
 * that a later version has dropped is not, either.
 */
export async function uncheckedFills(engine: Engine, sources: readonly string[]): Promise<UncheckedFill[]> {
  const rows = await slowRows(
    engine,
    `SELECT view, groupArray(version) FROM schema_fills FINAL WHERE is_checked = 0
       AND version IN (SELECT version FROM schema_versions)
       AND view IN (SELECT name FROM system.tables WHERE database = currentDatabase()) GROUP BY view ORDER BY view`,
  );
  const fills: UncheckedFill[] = [];
  for (const [view, versions] of rows) {
    const { source } = await fillOf(engine, view as string);
    if (sources.includes(source)) fills.push({ view: view as string, versions: versions as number[] });
  }
  return fills;
}

export function markChecked(engine: Engine, { view, versions }: UncheckedFill): Promise<void> {
  return note(
    engine,
    versions.map((version) => [version, view, 1]),
  );
}

async function note(engine: Engine, rows: readonly (readonly unknown[])[]): Promise<void> {
  const lines = rows.map((cells) => `${cells.join('\t')}\n`).join('');
  await engine.insert('schema_fills (version, view, is_checked)', Buffer.from(lines));
}
