// docs/schema.md is what analysts rely on: its tables are made from public-tables.ts (`npm test --
// test/analytics/sql/schema-page -u` writes them again), which is held to the real schema, and its examples run.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publicTables } from '../../../analytics/sql/public-tables.ts';
import { type Engine, openEngine } from '../../../analytics/store/engine.ts';
import { applySchema } from '../../../analytics/store/schema.ts';
import { eventKinds } from '../../../model/delivery-event.ts';

const page = new URL('../../../docs/schema.md', import.meta.url);
const text = readFileSync(page, 'utf8');
const dir = mkdtempSync(join(tmpdir(), 'heliograph-schema-page-'));
let engine: Engine;

beforeAll(async () => {
  engine = openEngine({ clickhouseUrl: null, dataDir: join(dir, 'clickhouse') });
  await applySchema(engine);
});
afterAll(async () => {
  await engine?.close();
  rmSync(dir, { recursive: true, force: true });
});

test('docs/schema.md has every public table with its columns', async () => {
  const sections = publicTables.map(({ name, title, description, time, columns }) =>
    [
      `## ${name}`,
      '',
      `${title}. ${description} Exports go by \`${time}\`.`,
      '',
      '| column | type | meaning |',
      '|---|---|---|',
      ...columns.map((column) => `| \`${column.name}\` | \`${column.type}\` | ${column.help} |`),
    ].join('\n'),
  );
  const made = text.replace(
    /(<!-- made from analytics\/sql\/public-tables\.ts -->\n)[\s\S]*?(<!-- end -->)/,
    (_, begin, end) => `${begin}\n${sections.join('\n\n')}\n\n${end}`,
  );
  await expect(made).toMatchFileSnapshot('../../../docs/schema.md');
});

test.each(publicTables)('every column of $name is public with this type, or withheld for a reason', async (table) => {
  const rows = await engine.rows(
    'SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = {table:String}',
    { table: table.name },
  );
  const shown = rows.filter(([name]) => !Object.hasOwn(table.withheld, String(name)));
  const byName = (a: readonly unknown[], b: readonly unknown[]) => String(a[0]).localeCompare(String(b[0]));
  expect(shown.toSorted(byName)).toEqual(table.columns.map(({ name, type }) => [name, type]).toSorted(byName));
  expect(rows.length - shown.length).toBe(Object.keys(table.withheld).length);
  expect(table.columns.map(({ name }) => name)).toContain(table.time);
});

test('every kind of event is explained', () => {
  const [, section = ''] = /### Kinds of events\n([\s\S]*?)\n## /.exec(text) ?? [];
  const missing = eventKinds.filter((kind) => kind !== 'intent' && !section.includes(`\`${kind}\``));
  expect(missing).toEqual([]);
});

const examples = [...text.matchAll(/```sql\n-- ([^\n]*)\n([\s\S]*?)```/g)].map(
  ([, what = '', sql = '']) => [what, sql] as const,
);

test.each(examples)('the example runs: %s', async (_what, sql) => {
  expect(await engine.rows(sql)).toBeInstanceOf(Array);
});

test('there are examples', () => expect(examples.length).toBeGreaterThanOrEqual(5));
