// A changed heliograph.yaml: what may change at run time, that a bad file changes nothing and says why, and that only a
// version whose file is stable is read.
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Configuration } from '../../config/configuration.ts';
import { parseConfiguration } from '../../config/parse.ts';
import { isLiveChange, liveKeys, reloadVerdict } from '../../config/reload.ts';
import { type ConfigurationWatch, watchConfiguration } from '../../config/watch.ts';
import { until } from '../support/until.ts';
import { within } from '../support/running-clock.ts';
import { testland } from '../support/testland.ts';

const text = `${testland}carriers:
  - name: alpha
    tps: 10
    binds:
      - { host: smsc.example.net, system_id: me, password: secret, window: 5 }
  - name: played
    tps: 20
    simulate: true
limits:
  stream_replicas: 1
`;
const read = (from: string) => parseConfiguration(from, 'heliograph.yaml');
const before = read(text);
const verdictOn = (find: string, put: string) => {
  expect(text).toContain(find);
  return reloadVerdict(before, read(text.replace(find, put)));
};
const more = (name: string, how: string) => `carriers:\n  - name: ${name}\n    tps: 5\n    ${how}\n`;

describe('what a change requires', () => {
  test.each([
    ['a contract', 'tps: 10', 'tps: 11', ['carriers alpha: live']],
    ['what a status means', 'tps: 10', 'tps: 10\n    errors: { ESME_RSYSERR: next }', ['carriers alpha: live']],
    ['classes', 'tps: 10', 'tps: 10\n    classes: [otp]', ['carriers alpha: live']],
    [
      'cost, weight and senders',
      'tps: 10',
      'tps: 10\n    cost: 0.3\n    weight: 2\n    senders: [numeric]',
      ['carriers alpha: live'],
    ],
    ['the contract of a simulated carrier', 'tps: 20', 'tps: 30', ['carriers played: live']],
    ['a bind', 'window: 5', 'window: 6', ['carriers alpha: its binds are reopened']],
    ['a timer', 'tps: 10', 'tps: 10\n    response_timer_s: 3', ['carriers alpha: its binds are reopened']],
    [
      'a new carrier',
      'carriers:\n',
      more('fresh', 'binds: [{ host: a.example.net, system_id: me, password: x }]'),
      ['carriers fresh: new'],
    ],
    ['a prefix', '"17": alpha', '"17": alpha, "18": played', ['country']],
    [
      'routes and fallback',
      'limits:\n',
      'routes: [{ prefix: "+88017", carriers: [played, alpha] }]\nrouting: { fallback: [played] }\nlimits:\n',
      ['routes', 'routing'],
    ],
  ])('%s: in effect at once', (_name, find, put, changed) => {
    expect(verdictOn(find, put)).toEqual({ ok: true, changed });
  });

  test.each([
    [
      'how much streams hold',
      'stream_replicas: 1',
      'stream_replicas: 3',
      'limits.stream_replicas: read at the start only',
    ],
    [
      'one of several in a map',
      'limits:\n',
      'limits:\n  drain_s_max: 40\n  account_queue_max: { transactional: 7000 }\n',
      'limits.account_queue_max.transactional: read at the start only\nlimits.drain_s_max: read at the start only',
    ],
    [
      'a new simulated carrier',
      'carriers:\n',
      more('fresh', 'simulate: true'),
      'carriers fresh: the simulator that plays',
    ],
    ['how a simulated carrier is played', 'simulate: true', 'simulate: { ids: hex }', 'carriers played: the simulator'],
    [
      'a carrier taken away',
      '  - name: played\n    tps: 20\n    simulate: true\n',
      '',
      'carriers played: cannot be taken away',
    ],
    ['threads', 'limits:\n', 'actors: { threads: 7 }\nlimits:\n', 'actors.threads: read at the start only'],
  ])('%s: needs a restart, and says so', (_name, find, put, sentence) => {
    const verdict = verdictOn(find, put);
    expect(verdict).toMatchObject({ ok: false });
    expect(verdict.ok ? '' : verdict.needRestart.join('\n')).toContain(sentence);
  });

  test('one change that cannot be made blocks the others: a file is in effect as a whole', () => {
    const both = read(text.replace('tps: 10', 'tps: 11').replace('stream_replicas: 1', 'stream_replicas: 3'));
    expect(reloadVerdict(before, both)).toMatchObject({
      ok: false,
      needRestart: ['limits.stream_replicas: read at the start only'],
    });
  });

  test('a running actor applies what does not concern its binds', () => {
    const [alpha] = before.carriers;
    expect(isLiveChange(alpha!, { ...alpha!, tps: 99, errors: { '1025': 'next' } })).toBe(true);
    expect(isLiveChange(alpha!, { ...alpha!, receiptId: 'hex' })).toBe(false);
  });
});

describe('the watch', () => {
  let folder: string;
  let file: string;
  let watch: ConfigurationWatch;
  let applied: Configuration[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'heliograph-reload-'));
    file = join(folder, 'heliograph.yaml');
    writeFileSync(file, text);
    applied = [];
    watch = watchConfiguration({ file, inEffect: before, parse: read, apply: (next) => applied.push(next) });
  });
  afterEach(() => {
    watch.stop();
    rmSync(folder, { recursive: true });
  });
  const tpsOf = (configuration: Configuration | undefined) => configuration?.carriers[0]?.tps;

  test('puts a change in effect within a second, also one by a rename', async () => {
    const promised = within(1_000);
    writeFileSync(file, text.replace('tps: 10', 'tps: 11'));
    await until('the change', () => tpsOf(applied.at(-1)) === 11, promised);
    writeFileSync(`${file}.new`, text.replace('tps: 10', 'tps: 12'));
    renameSync(`${file}.new`, file);
    await until('the second change', () => tpsOf(applied.at(-1)) === 12, promised);
    expect(applied).toHaveLength(2);
  });

  test('a bad file changes nothing and is reported; the next good one is applied', async () => {
    writeFileSync(file, text.replace('tps: 10', 'tps: fast'));
    const problems = await until('the refusal', () => watch.refused());
    expect(problems).toEqual([expect.stringContaining('8:10: carriers[0].tps: found "fast"')]);
    writeFileSync(file, text.replace('stream_replicas: 1', 'stream_replicas: 3'));
    await until('the other refusal', () => watch.refused()?.[0]?.startsWith('needs a restart: limits') === true);
    expect(applied).toEqual([]);
    writeFileSync(file, text.replace('tps: 10', 'tps: 13'));
    await until('the change', () => tpsOf(applied.at(-1)) === 13);
    expect(watch.refused()).toBeNull();
  });

  test('a file restored to its old content is no refusal any more, and nothing to put into effect', async () => {
    writeFileSync(file, 'country: [');
    await until('the refusal', () => watch.refused());
    writeFileSync(file, text);
    await until('no refusal', () => watch.refused() === null);
    expect(applied).toEqual([]);
  });

  test('a file that stays away is reported, and no more when it is back as it was', async () => {
    const looked = (what: string, is: () => boolean) =>
      until(what, async () => {
        await watch.look();
        return is();
      });
    renameSync(file, `${file}.away`);
    await looked('the report', () => watch.refused() !== null);
    expect(watch.refused()).toEqual([
      expect.stringMatching(/cannot be read: .* stays in effect, and the next start fails/),
    ]);
    renameSync(`${file}.away`, file);
    await looked('no report', () => watch.refused() === null);
    expect(applied).toEqual([]);
  });

  test('a file that is missing for a while changes nothing', async () => {
    rmSync(file);
    await watch.look();
    writeFileSync(file, text.replace('tps: 10', 'tps: 14'));
    await until('the change', () => tpsOf(applied.at(-1)) === 14);
  });
});

test('the head of heliograph.yaml lists what is live', () => {
  const head = readFileSync(new URL('../../heliograph.yaml', import.meta.url), 'utf8');
  expect(/^# Live: (.*), and of carriers everything but/m.exec(head)?.[1]?.split(', ')).toEqual(liveKeys);
});
