// Brings the database to the newest schema: the files of schema/ in the order of their numbers, each once, never
// back. A file is applied statement by statement and may be repeated after a crash in its middle, so every
// statement in it must be harmless when it ran before (IF NOT EXISTS).
import { readFileSync, readdirSync } from 'node:fs';
import { assert } from '../../platform/assert.ts';
import { log } from '../../platform/log.ts';
import type { Engine } from './engine.ts';

const folder = new URL('../schema/', import.meta.url);

/** Resolves with the versions that were applied now; none when the schema was current. */
export async function applySchema(engine: Engine): Promise<readonly number[]> {
  await engine.command(
    'CREATE TABLE IF NOT EXISTS schema_versions (version UInt32, name String, applied_at DateTime DEFAULT now()) ' +
      'ENGINE = MergeTree ORDER BY version',
  );
  const known = new Set((await engine.rows('SELECT version FROM schema_versions')).map(([version]) => version));
  const missing = schemaFiles().filter(({ version }) => !known.has(version));
  for (const { version, name, statements } of missing) {
    for (const statement of statements) await engine.command(statement);
    await engine.insert('schema_versions (version, name)', Buffer.from(`${version}\t${name}\n`));
    log.info({ version, name }, 'ClickHouse schema applied');
  }
  return missing.map(({ version }) => version);
}

export type SchemaFile = { readonly version: number; readonly name: string; readonly statements: readonly string[] };

export function schemaFiles(): readonly SchemaFile[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
    .map((name, at) => {
      const version = Number.parseInt(name, 10);
      assert(version === at + 1, `schema files are numbered without holes: ${name} is in place ${at + 1}`);
      return { version, name, statements: statementsOf(readFileSync(new URL(name, folder), 'utf8')) };
    });
}

/** Comments are whole lines; a semicolon ends a statement (none stands inside a string here). */
function statementsOf(sql: string): string[] {
  return sql
    .replaceAll(/^--.*$/gm, '')
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}
