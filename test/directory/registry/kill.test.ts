// An import that is killed at the worst moments: nothing of it is in effect, and the next one continues where it was.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { type CutProxy, cutProxy } from '../../support/cut-proxy.ts';
import { type InboundConsumer, type RunningCommand, inEffect, nationals, openInboundConsumer } from './harness.ts';

let harness: TestBus;
let inboundConsumer: InboundConsumer;
const rows = 2_500_000;
let text = '';
/** Thirteen chunks, eight at a time. */
const chunk = 'PUB $KV.registry.dnd.chunk';
let proxy: CutProxy | null = null;

/** The command, on a bus that accepts so many chunks and nothing after them: at every kill it is unfinished. */
async function importUntilChunk(nth: number, file: string): Promise<RunningCommand> {
  proxy = await cutProxy(harness.nats.url, { when: chunk, times: nth, what: 'requests' });
  return inboundConsumer.command(proxy.url, ['dnd', 'import', file]);
}

beforeAll(async () => {
  harness = await startBus();
  text = `${nationals(rows).join('\n')}\n`;
});
afterAll(async () => {
  await harness.stop();
});
beforeEach(() => {
  inboundConsumer = openInboundConsumer();
});
afterEach(async () => {
  inboundConsumer.close();
  proxy?.close();
  proxy = null;
  await harness.bus.manager.streams.purge('KV_registry');
});

const checkpoint = () => join(inboundConsumer.folder, 'registry-import', 'dnd', 'checkpoint.json');
const chunks = async () => {
  const filter = { subjects_filter: '$KV.registry.dnd.chunk.>' };
  const info = await harness.bus.manager.streams.info('KV_registry', filter);
  return Object.keys(info.state.subjects ?? {}).length;
};

describe('kill -9', () => {
  test.each(['plain', 'gzipped'])(
    'while it reads a %s file: the next import goes on behind the checkpoint',
    async (form) => {
      const file = join(inboundConsumer.folder, 'registry.csv');
      writeFileSync(file, form === 'plain' ? text : gzipSync(text, { level: 1 }));
      const first = await importUntilChunk(1, file);
      await until('a checkpoint', () => existsSync(checkpoint()), { everyMs: 2 });
      first.child.kill('SIGKILL');
      await first.exited;
      expect(await inEffect(harness.bus)).toBeNull();
      const { lines } = JSON.parse(readFileSync(checkpoint(), 'utf8')) as { lines: number };
      expect(lines).toBeGreaterThanOrEqual(1_000_000);
      expect(lines).toBeLessThanOrEqual(rows);

      const second = inboundConsumer.command(harness.nats.url, ['dnd', 'import', file, '--json']);
      expect(await second.exited, second.said()).toBe(0);
      const report = JSON.parse(second.said().trim().split('\n').at(-1) ?? '') as Record<string, unknown>;
      expect(report).toMatchObject({
        changed: true,
        resumed_from_line: lines,
        numbers: rows,
        lines: rows,
        bad_rows: 0,
      });
      const registry = await inEffect(harness.bus);
      expect(registry?.count).toBe(rows);
      for (const national of nationals(100, 999_950)) expect(registry?.markOf(`+880${national}`)).toBe(4);
      expect(existsSync(checkpoint())).toBe(false);
    },
  );

  test('while it stores: half a version is there and no reader can find it', async () => {
    const file = join(inboundConsumer.folder, 'registry.csv');
    writeFileSync(file, text);
    const first = await importUntilChunk(10, file);
    await until('half of the chunks', async () => (await chunks()) >= 8);
    first.child.kill('SIGKILL');
    await first.exited;
    const there = await chunks();
    expect(there).toBeLessThan(13);
    expect(await inEffect(harness.bus)).toBeNull();

    const second = inboundConsumer.command(harness.nats.url, ['dnd', 'import', file, '--json']);
    expect(await second.exited, second.said()).toBe(0);
    expect((await inEffect(harness.bus))?.count).toBe(rows);
    expect(await chunks()).toBeGreaterThanOrEqual(there);
  });

  test('another file does not continue this one', async () => {
    const file = join(inboundConsumer.folder, 'registry.csv');
    writeFileSync(file, text);
    const first = await importUntilChunk(1, file);
    await until('a checkpoint', () => existsSync(checkpoint()), { everyMs: 2 });
    first.child.kill('SIGKILL');
    await first.exited;
    const report = await inboundConsumer.import(harness.bus, inboundConsumer.file('other.csv', nationals(10)));
    expect(report).toMatchObject({ resumedFrom: 0, numbers: 10 });
  });
});

test('a number is looked up in the version in effect, and a conflict of carriers is reported', async () => {
  const run = async (...words: string[]) => {
    const command = inboundConsumer.command(harness.nats.url, words);
    return { code: await command.exited, said: command.said() };
  };
  const number = '+8801712345678';
  expect(await run('dnd', 'check', number)).toMatchObject({ code: 1, said: expect.stringContaining('nothing was') });
  await inboundConsumer.import(harness.bus, inboundConsumer.file('dnd.csv', ['01712345678,all', '01812345678']));
  const listed = await run('dnd', 'check', number, '--json');
  expect(JSON.parse(listed.said)).toMatchObject({ number, listed: true, unwanted: ['transactional', 'promotional'] });
  expect((await run('dnd', 'check', '+8801912345678')).said).toMatch(/^dnd 1-[0-9a-f]{8}: \S+ is not listed/);
  expect(await run('dnd', 'check', '01712345678')).toMatchObject({ code: 1, said: expect.stringContaining('+880') });
  const twice = inboundConsumer.file('ported.csv', ['01712345678,alpha', '01712345678,beta']);
  expect((await run('ported', 'import', twice)).said).toContain('Conflicts 1 numbers');
  expect((await run('ported', 'check', number)).said).toMatch(/is listed: went to (alpha|beta)/);
});

test('a missing file is answered with one sentence and an exit code', async () => {
  const missing = inboundConsumer.command(harness.nats.url, [
    'dnd',
    'import',
    join(inboundConsumer.folder, 'nothing.csv'),
  ]);
  expect(await missing.exited).toBe(1);
  expect(missing.said().trim().split('\n')).toHaveLength(1);
  const status = inboundConsumer.command(harness.nats.url, ['dnd', 'status', '--json']);
  expect(await status.exited).toBe(0);
  expect(JSON.parse(status.said())).toEqual({ registry: 'dnd', version: null });
});
