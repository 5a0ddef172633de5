// What both engines must do alike. chDB and the server run it in files of their own, because chDB binds one directory
// per process.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Engine, hasTooManyRows } from '../../../analytics/store/engine.ts';
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
