// Imports on a real NATS: every process finds exactly what was in the file, or nothing has changed at all.
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { RegistryVersions } from '../../../directory/registry/versions.ts';
import { until } from '../../support/until.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { type InboundConsumer, inEffect, nationals, openInboundConsumer } from './harness.ts';

let harness: TestBus;
let inboundConsumer: InboundConsumer;

beforeAll(async () => {
  harness = await startBus();
});
afterAll(async () => {
  await harness.stop();
});
beforeEach(() => {
  inboundConsumer = openInboundConsumer();
});
afterEach(async () => {
  inboundConsumer.close();
  // The bucket as it was before anything was imported.
  await harness.bus.manager.streams.purge('KV_registry');
});

describe('a snapshot', () => {
  test('replaces what was in effect, plain or gzipped', async () => {
    const first = await inboundConsumer.import(
      harness.bus,
      inboundConsumer.file('one.csv', ['number,preferences', '01712345678', '01812345678,all']),
    );
    expect(first).toMatchObject({ changed: true, numbers: 2, numbersBefore: 0, rows: { badRows: 0, entries: 2 } });
    const second = await inboundConsumer.import(
      harness.bus,
      inboundConsumer.file('two.csv.gz', ['01712345678', '01912345678'], true),
    );
    expect(second).toMatchObject({ changed: true, numbers: 2, numbersBefore: 2 });

    const registry = await inEffect(harness.bus);
    expect(registry?.version).toBe(second.version);
    expect(second.version).toMatch(/^2-[0-9a-f]{8}$/);
    expect([1_712_345_678, 1_812_345_678, 1_912_345_678].map((each) => registry?.markOf(`+880${each}`))).toEqual([
      4, 0, 4,
    ]);
  });

  test('is never read as a list of changes, nor such a list as a snapshot: removed numbers are never listed', async () => {
    await inboundConsumer.import(harness.bus, inboundConsumer.file('one.csv', ['number', ...nationals(4)]));
    const changes = inboundConsumer.file('changes.csv', [
      'change,number',
      '-,01712345678',
      '+,01812345678',
      '-,01912345678',
    ]);
    await expect(inboundConsumer.import(harness.bus, changes)).rejects.toThrow('add --delta; nothing was changed');
    await expect(
      inboundConsumer.import(harness.bus, inboundConsumer.file('rows.csv', ['-,01712345678', '+,01812345678'])),
    ).rejects.toThrow(/no row of it is a number; nothing was changed[^]*line 1: begins with \+ or -[^]*--delta/);
    const whole = inboundConsumer.file('whole.csv', ['number', ...nationals(4)]);
    await expect(inboundConsumer.import(harness.bus, whole, { delta: true })).rejects.toThrow(
      'without --delta; nothing was changed',
    );
    expect(await inEffect(harness.bus)).toMatchObject({ count: 4, version: expect.stringMatching(/^1-/) });
  });

  test('may begin with the byte order mark of UTF-8, with and without a heading', async () => {
    for (const [at, lines] of [
      ['number', '01712345678'],
      ['01712345678', '01812345678'],
    ].entries()) {
      const file = inboundConsumer.file(`mark-${at}.csv`, [`\uFEFF${lines[0]}`, ...lines.slice(1)]);
      expect(await inboundConsumer.import(harness.bus, file)).toMatchObject({ numbers: at + 1, rows: { badRows: 0 } });
    }
  });

  test('with the content in effect makes no new version', async () => {
    const file = inboundConsumer.file('one.csv', ['01712345678']);
    const first = await inboundConsumer.import(harness.bus, file);
    expect(await inboundConsumer.import(harness.bus, file)).toMatchObject({ changed: false, version: first.version });
  });

  test('that would remove most of it is refused, unless that is allowed', async () => {
    await inboundConsumer.import(harness.bus, inboundConsumer.file('one.csv', nationals(100)));
    const small = inboundConsumer.file('small.csv', nationals(49));
    await expect(inboundConsumer.import(harness.bus, small)).rejects.toThrow('--allow-shrink');
    expect((await inEffect(harness.bus))?.count).toBe(100);
    expect(await inboundConsumer.import(harness.bus, inboundConsumer.file('half.csv', nationals(50)))).toMatchObject({
      numbers: 50,
    });
    expect(
      await inboundConsumer.import(harness.bus, inboundConsumer.file('none.csv', nationals(1)), { allowShrink: true }),
    ).toMatchObject({
      numbers: 1,
    });
  });

  test.each([[[]], [['number']], [['', '+14155550123']]])('without a number changes nothing: %j', async (lines) => {
    await expect(inboundConsumer.import(harness.bus, inboundConsumer.file('empty.csv', lines))).rejects.toThrow(
      'no row of it is a number',
    );
    expect(await inEffect(harness.bus)).toBeNull();
  });

  test('that ends in the middle of its packed data changes nothing', async () => {
    const { readFileSync, writeFileSync } = await import('node:fs');
    const file = inboundConsumer.file('cut.csv.gz', nationals(10_000), true);
    writeFileSync(file, readFileSync(file).subarray(0, 20_000));
    await expect(inboundConsumer.import(harness.bus, file)).rejects.toThrow('cannot be read to its end');
    expect(await inEffect(harness.bus)).toBeNull();
  });

  test('of a missing file is reported as such', async () => {
    await expect(inboundConsumer.import(harness.bus, `${inboundConsumer.folder}/nothing.csv`)).rejects.toThrow(
      'cannot be read',
    );
  });
});

test('imported numbers equal those of a Map, over snapshots and deltas', async () => {
  const digits = fc.integer({ min: 0, max: 30 }).map((each) => String(1_712_345_600 + each));
  const preference = fc.constantFrom('', 'promotional', 'all');
  const snapshot = fc.array(fc.tuple(digits, preference), { minLength: 1, maxLength: 30 });
  const delta = fc.array(fc.tuple(fc.constantFrom('+', '-'), digits, preference), { minLength: 1, maxLength: 30 });
  const markOf = (word: string) => (word === 'all' ? 6 : 4);
  await fc.assert(
    fc.asyncProperty(snapshot, fc.array(delta, { maxLength: 2 }), async (rows, deltas) => {
      await harness.bus.manager.streams.purge('KV_registry');
      const expected = new Map<string, number>();
      for (const [number, word] of rows) expected.set(number, (expected.get(number) ?? 0) | markOf(word));
      await inboundConsumer.import(
        harness.bus,
        inboundConsumer.file(
          's.csv',
          rows.map((row) => row.join(',')),
        ),
      );
      for (const [at, changes] of deltas.entries()) {
        for (const [change, number, word] of changes) {
          if (change === '-') expected.delete(number);
          else expected.set(number, markOf(word));
        }
        const file = inboundConsumer.file(
          `d${at}.csv`,
          changes.map((row) => row.join(',')),
        );
        await inboundConsumer.import(harness.bus, file, { delta: true, allowShrink: true });
      }
      const registry = await inEffect(harness.bus);
      for (let each = 1_712_345_590; each < 1_712_345_640; each += 1) {
        expect(registry?.markOf(`+880${each}`)).toBe(expected.get(String(each)) ?? 0);
      }
    }),
    { numRuns: 15 },
  );
});

describe('bad rows', () => {
  const rows = (bad: number) => [...nationals(20), ...Array.from({ length: bad }, () => 'nobody')];
  test('are counted and reported with their lines up to the bound', async () => {
    const report = await inboundConsumer.import(harness.bus, inboundConsumer.file('bad.csv', rows(3)), {
      badRowsMax: 3,
    });
    expect(report.rows).toMatchObject({ badRows: 3, entries: 20 });
    expect(report.rows.shown).toEqual([21, 22, 23].map((line) => `line ${line}: not a phone number`));
  });

  test('beyond the bound stop it, and nothing has changed', async () => {
    const file = inboundConsumer.file('bad.csv', rows(4));
    await expect(inboundConsumer.import(harness.bus, file, { badRowsMax: 3 })).rejects.toThrow(
      /more than 3 rows.*line 21/s,
    );
    expect(await inEffect(harness.bus)).toBeNull();
  });

  test('of any length are rows, not memory', async () => {
    const file = inboundConsumer.file('long.csv', [...nationals(3), 'x'.repeat(3_000_000), ...nationals(2, 10)]);
    const report = await inboundConsumer.import(harness.bus, file);
    expect(report.rows).toMatchObject({ badRows: 1, entries: 5, lines: 6 });
    expect(report.rows.shown).toEqual(['line 4: longer than 1024 characters']);
  });

  test('numbers that are not served here are no bad rows', async () => {
    const report = await inboundConsumer.import(
      harness.bus,
      inboundConsumer.file('mixed.csv', ['+14155550123', '029898989', '01712345678']),
    );
    expect(report.rows).toMatchObject({ notServed: 2, badRows: 0, entries: 1 });
  });
});

test('ported numbers have the carrier they went to, by the name of the pack or ours', async () => {
  const file = inboundConsumer.file('ported.csv', [
    'number,carrier',
    '01712345678,banglalink',
    '01812345678,beta',
    '01912345678,alpha',
  ]);
  await inboundConsumer.import(harness.bus, file, { name: 'ported' });
  const ported = await inEffect(harness.bus, 'ported');
  const carrierOf = (national: number) => ported?.names[(ported.markOf(`+880${national}`) || 0) - 1];
  expect([1_712_345_678, 1_812_345_678, 1_912_345_678, 1_612_345_678].map(carrierOf)).toEqual([
    'beta',
    'beta',
    'alpha',
    undefined,
  ]);
  // A delta knows the names that are there.
  await inboundConsumer.import(
    harness.bus,
    inboundConsumer.file('d.csv', ['+,01712345678,grameenphone', '-,01812345678']),
    {
      name: 'ported',
      delta: true,
    },
  );
  const after = await inEffect(harness.bus, 'ported');
  expect(after?.names[(after.markOf('+8801712345678') || 0) - 1]).toBe('alpha');
  expect(after?.markOf('+8801812345678')).toBe(0);
});

describe('two imports at once', () => {
  test('the second is refused and names the first', async () => {
    const big = inboundConsumer.file('big.csv', nationals(400_000));
    const first = inboundConsumer.import(harness.bus, big);
    const versions = await RegistryVersions.open(harness.bus);
    await until('the first has the lock', async () => (await versions.kv.get('dnd.lock'))?.operation === 'PUT');
    const second = inboundConsumer.import(harness.bus, inboundConsumer.file('small.csv', nationals(10)), {
      dataDir: `${inboundConsumer.folder}/other`,
    });
    await expect(Promise.all([second, first])).rejects.toThrow(`process ${process.pid}`);
    expect(await first).toMatchObject({ numbers: 400_000, changed: true });
  });

  test('the import that moves the pointer second has changed nothing', async () => {
    await inboundConsumer.import(harness.bus, inboundConsumer.file('one.csv', nationals(5)));
    const versions = await RegistryVersions.open(harness.bus);
    const before = await versions.current('dnd');
    await inboundConsumer.import(harness.bus, inboundConsumer.file('two.csv', nationals(6)));
    const about = { count: 1, callingCode: '+880', importedAtMs: 0, source: 'late' };
    expect(await versions.publish('dnd', new Uint8Array(9), about, before)).toBeNull();
    expect((await inEffect(harness.bus))?.count).toBe(6);
  });
});

describe('a version', () => {
  test('of which a chunk is missing or changed is not loaded', async () => {
    await inboundConsumer.import(harness.bus, inboundConsumer.file('one.csv', nationals(400_000)));
    const versions = await RegistryVersions.open(harness.bus);
    const pointer = await versions.current('dnd');
    if (pointer === null) throw new Error('nothing was imported');
    const { sha256 } = pointer.value;
    const key = `dnd.chunk.${sha256.slice(0, 32)}.1`;
    const chunk = (await versions.kv.get(key))?.value ?? new Uint8Array();
    const changed = Uint8Array.from(chunk);
    changed[100] = (changed[100] ?? 0) ^ 1;
    await versions.kv.put(key, changed);
    await expect(versions.load('dnd', pointer.value)).rejects.toThrow('is not what was imported');
    await versions.kv.delete(key);
    await expect(versions.load('dnd', pointer.value)).rejects.toThrow('missing');
    await versions.kv.put(key, chunk);
    expect((await versions.load('dnd', pointer.value)).byteLength).toBe(pointer.value.bytes);
  });

  test('is kept while it is one of the last two', async () => {
    for (const count of [1, 2, 3, 4])
      await inboundConsumer.import(harness.bus, inboundConsumer.file(`${count}.csv`, nationals(count)));
    const info = await harness.bus.manager.streams.info('KV_registry', { subjects_filter: '$KV.registry.dnd.chunk.>' });
    expect(Object.keys(info.state.subjects ?? {})).toHaveLength(2);
  });
});
