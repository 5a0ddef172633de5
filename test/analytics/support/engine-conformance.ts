// What both engines must do alike. chDB and the server run it in files of their own, because chDB binds one directory
// per process.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertSettings } from '../../../analytics/recorder/writer.ts';
import { type Engine, hasTooManyRows } from '../../../analytics/store/engine.ts';
import { BlockRows } from '../../../analytics/store/native-block.ts';
import { DictionaryColumn, TextColumn, WideColumn } from '../../../analytics/store/native-columns.ts';
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
    const filled = new BlockRows();
    for (const each of [n, at, word, kind, leftOut]) filled.column(each);
    for (const cells of rows) {
      const row = filled.add();
      n.set(row, cells.n);
      at.set(row, cells.at);
      word.set(row, cells.word);
      kind.set(row, cells.kind);
      leftOut.set(row, null);
    }
    const block = filled.block();
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
    const rows = new BlockRows();
    const n = rows.column(new WideColumn('n', 'UInt64'));
    for (const value of [8, 9]) n.set(rows.add(), value);
    const block = rows.block()!.octets;
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

  test('an answer has nothing of a statement that failed before it', async () => {
    const failing = 'SELECT number, throwIf(number = 150000) FROM numbers(200000) SETTINGS max_block_size = 1000';
    await expect(engine.rows(failing)).rejects.toThrow();
    expect(await engine.rows('SELECT 1')).toEqual([[1]]);
    await expect(engine.octets(failing, 'CSVWithNames', {}, 10_000, 'background')).rejects.toThrow();
    expect((await engine.octets('SELECT 1 AS n', 'CSVWithNames', {}, 10_000, 'background')).toString()).toBe(
      '"n"\n1\n',
    );
    const large = 'SELECT number FROM numbers(200000) SETTINGS max_result_rows = 150000';
    const refusal = await engine.octets(large, 'Parquet', {}, 10_000, 'background').catch((error: unknown) => error);
    expect(hasTooManyRows(refusal)).toBe(true);
    expect((await engine.octets('SELECT 1 AS n', 'JSONEachRow', {}, 10_000, 'background')).toString()).toContain(
      '"n":1',
    );
  });

  test('keeps the parameters of many concurrent queries apart', async () => {
    const asked = Array.from({ length: 60 }, (_, n) =>
      engine.rows('SELECT {n:UInt64} + 1, {word:String}', { n, word: `w${n}` }, 60_000),
    );
    const answers = await Promise.all(asked);
    expect(answers.map(([row]) => row)).toEqual(asked.map((_, n) => [n + 1, `w${n}`]));
  });

  test('gives an answer in octets the texts and lists of its parameters, beside queries that bind others', async () => {
    const octets = async (word: string, n: number) => {
      const sql = 'SELECT {word:String} AS word, {words:Array(String)} AS words, {n:UInt8} AS n, {yes:Bool} AS yes';
      const params = { word, words: [word, 'b'], n, yes: n % 2 === 0 };
      return JSON.parse((await engine.octets(sql, 'JSONEachRow', params, 20_000, 'background')).toString()) as unknown;
    };
    const given = Array.from({ length: 30 }, (_, n) => ({ n, word: words[n % words.length] as string }));
    const asked = given.map(({ word, n }) => octets(word, n));
    const rows = given.map(({ word }) => engine.rows('SELECT {word:String}', { word }));
    const expected = given.map(({ word, n }) => ({ word, words: [word, 'b'], n, yes: n % 2 === 0 }));
    expect(await Promise.all(asked)).toEqual(expected);
    expect(await Promise.all(rows)).toEqual(given.map(({ word }) => [[word]]));
    await expect(engine.octets('SELECT {gone:String}', 'JSONEachRow', {}, 20_000, 'background')).rejects.toThrow(
      /gone/,
    );
  });

  test('ends a call that takes too long, and continues', async () => {
    // Far longer than the deadline: after a stall the process handles what arrived meanwhile first.
    await expect(engine.rows('SELECT sleep(2)', {}, 50)).rejects.toThrow(DeadlineExceeded);
    expect(await engine.rows('SELECT 1', {}, 10_000)).toEqual([[1]]);
  });
}
