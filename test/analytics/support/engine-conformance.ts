// What both engines must do alike. chDB and the server run it in files of their own, because chDB binds one directory
// per process.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertSettings } from '../../../analytics/recorder/writer.ts';
import type { Engine } from '../../../analytics/store/engine.ts';
import { DictionaryColumn, TextColumn, WideColumn, nativeBlock } from '../../../analytics/store/native-columns.ts';
import { DeadlineExceeded } from '../../../platform/deadline.ts';

export function engineConformance(open: () => Promise<{ engine: Engine; close(): Promise<void> }>): void {
  let engine: Engine;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ engine, close } = await open());
    await engine.command(
      'CREATE TABLE each (n UInt64, word String) ENGINE = MergeTree ORDER BY n ' +
        'SETTINGS non_replicated_deduplication_window = 10',
    );
  });
  afterAll(() => close());

  const words = ["it's", 'a\ttab', 'a\nline', 'back\\slash', '€ {n:UInt64} ; --', ''];

  test('gives bound texts and lists back unchanged', async () => {
    for (const word of words) {
      expect(await engine.rows('SELECT {word:String}, length({word:String})', { word })).toEqual([
        [word, Buffer.byteLength(word)],
      ]);
    }
    expect(await engine.rows('SELECT {words:Array(String)}', { words })).toEqual([[words]]);
    expect(await engine.rows('SELECT {ms:Int64}, {yes:Bool}', { ms: 1_790_000_000_123, yes: true })).toEqual([
      [1_790_000_000_123, true],
    ]);
  });

  test('inserts rows of tab-separated text, once for each token', async () => {
    const rows = Buffer.from('1\tone;\\t\n2\ttwo\n');
    for (let times = 0; times < 3; times += 1) {
      await engine.insert("each (n, word) SETTINGS insert_deduplication_token = 'first'", rows);
    }
    await engine.insert("each (n, word) SETTINGS insert_deduplication_token = 'second'", Buffer.from('3\tthree\n'));
    expect(await engine.rows('SELECT n, word FROM each ORDER BY n')).toEqual([
      [1, 'one;\t'],
      [2, 'two'],
      [3, 'three'],
    ]);
  });

  test('inserts a block of columns whatever its octets are, once for each token, and into a view as often', async () => {
    await engine.command(
      "CREATE TABLE blocks (n UInt64, at DateTime64(3, 'UTC'), word String, kind LowCardinality(String), left_out String " +
        "DEFAULT 'default') ENGINE = MergeTree PARTITION BY n % 3 ORDER BY n " +
        'SETTINGS non_replicated_deduplication_window = 10',
    );
    await engine.command(
      'CREATE TABLE block_sums (kind LowCardinality(String), rows UInt64) ENGINE = SummingMergeTree ORDER BY kind ' +
        'SETTINGS non_replicated_deduplication_window = 10',
    );
    await engine.command(
      'CREATE MATERIALIZED VIEW block_feed TO block_sums AS SELECT kind, count() AS rows FROM blocks GROUP BY kind',
    );
    // Of all octets, line feeds and ends of statements among them.
    const texts = [...words, '\n\n', ';', "'", '\0', '\x0a\x0a;\nSELECT 1', 'বাংলা', 'x'.repeat(200)];
    const rows = texts.map((word, at) => ({
      n: at * 0x0a0a,
      at: 1_790_000_000_123 + at,
      word,
      kind: words[at % 3] ?? '',
    }));
    const [n, at, word, kind, leftOut] = [
      new WideColumn('n', 'UInt64'),
      new WideColumn('at', "DateTime64(3, 'UTC')"),
      new TextColumn('word'),
      new DictionaryColumn('kind'),
      new TextColumn('left_out'),
    ] as const;
    for (const column of [n, at, word, kind, leftOut]) column.reserve(rows.length);
    for (const [row, cells] of rows.entries()) {
      n.set(row, cells.n);
      at.set(row, cells.at);
      word.set(row, cells.word);
      kind.set(row, cells.kind);
      leftOut.set(row, null);
    }
    const block = nativeBlock([n, at, word, kind, leftOut], rows.length);
    expect(block?.columns).toEqual(['n', 'at', 'word', 'kind']);
    const insert = (token: string) =>
      engine.insertBlock(`blocks (${block?.columns.join(', ') ?? ''})`, insertSettings(token), block!.octets);
    for (let times = 0; times < 3; times += 1) await insert('first');
    const read = () =>
      engine.rows('SELECT n, toUnixTimestamp64Milli(at), word, kind, left_out FROM blocks ORDER BY n, word');
    expect(await read()).toEqual(rows.map((row) => [row.n, row.at, row.word, row.kind, 'default']));
    expect(await engine.rows('SELECT sum(rows) FROM block_sums')).toEqual([[rows.length]]);
    await insert('second');
    expect(await read()).toHaveLength(rows.length * 2);
    expect(await engine.rows('SELECT sum(rows) FROM block_sums')).toEqual([[rows.length * 2]]);
  });

  test('refuses a block that is cut off, and writes none of it', async () => {
    const n = new WideColumn('n', 'UInt64');
    n.reserve(2);
    for (const row of [0, 1]) n.set(row, 8 + row);
    const block = nativeBlock([n], 2)!.octets;
    await expect(engine.insertBlock('each (n)', 'insert_deduplicate = 0', block.subarray(0, -1))).rejects.toThrow();
    await expect(engine.insertBlock('nowhere (n)', 'insert_deduplicate = 0', block)).rejects.toThrow();
    expect(await engine.rows('SELECT n FROM each WHERE n IN (8, 9)')).toEqual([]);
  });

  test('refuses a wrong statement and rows it cannot parse, and writes none of them', async () => {
    await expect(engine.command('SELECTT 1')).rejects.toThrow();
    await expect(engine.rows('SELECT nothing FROM nowhere')).rejects.toThrow();
    await expect(engine.insert('each (n, word)', Buffer.from('7\tseven\nnot a number\teight\n'))).rejects.toThrow();
    expect(await engine.rows('SELECT n FROM each WHERE n = 7')).toEqual([]);
  });

  test('keeps the parameters of many concurrent queries apart', async () => {
    const asked = Array.from({ length: 60 }, (_, n) =>
      engine.rows('SELECT {n:UInt64} + 1, {word:String}', { n, word: `w${n}` }),
    );
    const answers = await Promise.all(asked);
    expect(answers.map(([row]) => row)).toEqual(asked.map((_, n) => [n + 1, `w${n}`]));
  });

  test('ends a call that takes too long, and continues', async () => {
    // Far longer than the deadline: after a stall the process handles what arrived meanwhile first.
    await expect(engine.rows('SELECT sleep(2)', {}, 50)).rejects.toThrow(DeadlineExceeded);
    expect(await engine.rows('SELECT 1', {}, 10_000)).toEqual([[1]]);
  });
}
