// The command line of the benches: what each takes, what it refuses, and docs/benches.md, which is made of the same entries.
// `npm test -- test/bench/benches -u` writes the page again.
import { describe, expect, it } from 'vitest';
import { benches } from '../../bench/catalogue.ts';
import type { AnyBench } from '../../bench/harness/bench.ts';
import { optionsOf, valuesOf, wordsOf } from '../../bench/harness/options.ts';
import { helpOf, usageOf } from '../../bench/harness/usage.ts';

const all = await Promise.all(
  Object.entries(benches).map(async ([name, load]) => [name, (await load()).bench] as const),
);
const benchOf = (name: string) => all.find(([each]) => each === name)?.[1] as AnyBench;
const read = (name: string, ...args: string[]) => optionsOf(name, benchOf(name), wordsOf([name, ...args]).given);

describe('the options of a bench', () => {
  it('have the defaults of that bench', () => {
    expect(read('otp')).toEqual(valuesOf(benchOf('otp')));
    expect(read('otp')).toMatchObject({ seconds: 300, seed: 1, count: 1_000_000, rate: 100, picture: null });
    expect(read('throughput')).toMatchObject({ seconds: 60, rate: 5_000, webhooks: false, batch: null });
  });

  it('are read as numbers, lists and names', () => {
    expect(read('otp', '--seconds', '1.5', '--only', 'steady,heavy_tail', '--picture', 'a.svg')).toMatchObject({
      seconds: 1.5,
      only: ['steady', 'heavy_tail'],
      picture: 'a.svg',
    });
    expect(read('pacing', '--contracts=10,200')).toMatchObject({ contracts: [10, 200] });
    expect(read('throughput', '--webhooks', '--batch', '100')).toMatchObject({ webhooks: true, batch: 100 });
  });

  it('follow from each other where the bench says so', () => {
    expect(read('idempotency', '--rate', '2')).toMatchObject({ count: 172_800 });
    expect(read('idempotency', '--rate', '2', '--count', '5')).toMatchObject({ count: 5 });
  });

  it('that it does not take are refused with those that it takes', () => {
    const takes = 'means nothing to the bench otp, which takes --seconds, --seed, --count, --rate, --only, --picture';
    expect(read('otp', '--sekonds', '3')).toEqual({ wrong: `--sekonds ${takes}, --json, --help` });
    expect(read('otp', '--batch', '3')).toEqual({ wrong: `--batch ${takes}, --json, --help` });
  });

  it('without a value, with a wrong one or with one too many are refused', () => {
    for (const value of ['0', '-1', 'x', '']) {
      expect(read('otp', `--seconds=${value}`)).toEqual({
        wrong: `--seconds expects a number above 0; found "${value}"`,
      });
    }
    expect(read('otp', '--seconds')).toEqual({ wrong: '--seconds expects a number above 0' });
    expect(read('otp', '--count', '1.5')).toEqual({
      wrong: '--count expects a whole number above 0; found "1.5"',
    });
    expect(read('otp', '--picture')).toEqual({ wrong: '--picture expects the name of a file' });
    expect(read('pacing', '--contracts', '10,x')).toEqual({
      wrong: '--contracts expects whole numbers above 0, as in 10,100; found "10,x"',
    });
    expect(read('throughput', '--webhooks=yes')).toEqual({ wrong: '--webhooks expects no value; found "yes"' });
  });

  it('name parts that the bench has', () => {
    expect(read('clicks', '--only', 'steady,redis')).toEqual({
      wrong: '--only expects some of steady, postgres, clickhouse, nats; found redis',
    });
  });
});

describe('the targets of a bench', () => {
  const figures = (name: string, ...args: string[]) => {
    const options = read(name, ...args);
    if ('wrong' in options) throw new Error(options.wrong);
    return benchOf(name)
      .targets(options)
      .map(({ figure }) => figure);
  };

  it('are those of the parts that run', () => {
    expect(figures('otp', '--only', 'nats_restarted')).toEqual(['nats_restarted_lost', 'nats_restarted_duplicated']);
    expect(figures('otp', '--only', 'steady')).toContain('steady_platform_p999_ms');
    expect(figures('throughput')).not.toContain('webhooks_missing');
    expect(figures('throughput', '--batch', '100')).toContain('webhooks_missing');
  });

  it('are in each help', () => {
    for (const [name, bench] of all) {
      const help = helpOf(name, bench);
      for (const { figure } of bench.targets(valuesOf(bench))) expect(help).toContain(figure);
      for (const part of Object.keys(bench.options.only?.parts ?? {})) expect(help).toContain(`  ${part} `);
    }
  });
});

it('docs/benches.md is made of the entries', async () => {
  await expect(`${head}\n${all.map(([name, bench]) => section(name, bench)).join('\n')}`).toMatchFileSnapshot(
    '../../docs/benches.md',
  );
});

function section(name: string, bench: AnyBench): string {
  const { options, parts, targets } = usageOf(bench);
  const table = (title: string, rows: readonly (readonly [string, string])[]) =>
    rows.length === 0
      ? []
      : [`| ${title} | |`, '|---|---|', ...rows.map(([word, about]) => `| \`${word}\` | ${about} |`), ''];
  return [
    `## ${name}`,
    `${bench.about.charAt(0).toUpperCase()}${bench.about.slice(1)}. Takes ${bench.takes}.`,
    '',
    ...table('option', options.slice(0, -1)),
    ...table('part, for `--only`', parts),
    'Targets:',
    ...targets.map((each) =>
      each.replace(/^([^:]*): (.*)$/, (_, bound, names) => `* ${bound}: \`${names.replaceAll(', ', '`, `')}\``),
    ),
    '',
  ].join('\n');
}

const head = `# Benches

What each bench does, what it takes and what it must reach. This page is made of the entries in \`bench/\` that are run;
\`npm run bench -- NAME --help\` says the same. What was measured is in [benchmarks](benchmarks.md).

\`\`\`sh
npm run bench                                                  # the list
npm run bench -- otp --only steady --seconds 60 --count 100000  # a short part of one
\`\`\`

Everything that a bench needs is started and stopped by it, with data in a folder of its own below \`TMPDIR\`: nats-server, and for
most of them PostgreSQL, ClickHouse and simulated carriers (SMSC peers). The load comes from the same machine. Nothing else should run on it,
and a figure is compared with one of the same hour only.

Load is open loop unless a bench says otherwise: each request has a time at which it should be sent, however late the answers are, and
latency counts from that time. So a system that stalls is seen to stall. Messages are counted at the SMSC peers, by a number in their text.

At the end stand the load, the machine and all figures, those with a target with \`met\` or \`MISSED\`. \`--json\` adds the same as one line of JSON, with the
commit. The exit code is 1 when a target is missed, and 2 when an option is unknown to the bench or its value is wrong. A name of a figure
ends in its unit: \`_ms\`, \`_us\` (microseconds), \`_mb\`, \`_per_s\`; \`p50\`, \`p99\` and \`p999\` are the median, the slowest hundredth and the slowest thousandth.

## Words
* OTP: a one-time password. SMSC peer: the simulated carrier of a bench, a process that answers, sends receipts and counts.
* handset: the time from the carrier's answer to the receipt, as the subscriber's telephone would make it; \`lognormal(250 ms, 0.4)\` has a median of 250 ms.
* platform: from the HTTP request to its submit_sm at the SMSC peer. delivered: from the HTTP request to the receipt.

## The picture of otp
\`npm run bench -- otp --picture bench/results/otp.svg\` writes the picture of the phase \`steady\` (SVG), for each time the share of OTP that took longer.
Without the option no file is written. The picture in \`bench/results/\` is that of a whole run: write there only what the
[figures](benchmarks.md#otp) describe.
`;
