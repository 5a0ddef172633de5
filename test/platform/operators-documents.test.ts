// docs/metrics.md is the catalogue of metrics, and docs/operations.md explains every alarm of the log. `-u` writes the
// former again; the latter is written by hand.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { togetherOf } from '../../platform/metric-registry.ts';
import { metrics } from '../../platform/telemetry.ts';
import { alertRules, promqlError } from '../support/alert-rules.ts';

const root = join(import.meta.dirname, '../..');

test('docs/metrics.md is the catalogue', async () => {
  const rows = await Promise.all(
    Object.values(metrics).map(async (metric) => {
      const { name, help, type } = await metric.get();
      const labels = (metric as unknown as { labelNames: readonly string[] }).labelNames;
      const shown = labels.map((label) => `\`${label}\``).join(' ');
      return `| \`${name}\` | ${String(type)} | ${shown} | ${togetherOf(metric)} | ${help} |`;
    }),
  );
  const page = `# Metrics

Every metric of Heliograph, as \`GET /metrics\` on the admin port gives it. Made from \`platform/telemetry.ts\`. The unit is
the end of the name: \`_seconds\`, \`_bytes\`, \`_total\` (a count that only grows), \`_per_s\`, \`_share\` (0 to 1); without one
it is a number of things. Of a histogram there are \`_bucket\`, \`_sum\` and \`_count\`. What to watch and when to be called:
[operations](operations.md). Node's own metrics (\`process_…\`, \`nodejs_…\`) come with the label \`role\`;
those of the event loop's lag contain the 0.1 s between two looks at it.

One machine's threads and processes are put together already. Over several machines: \`sum\`: each has a part · \`max\`,
\`min\`: the one that counts for all · \`any\`: the same on every machine, take one (\`max\` does). The labels say which
series belong together: \`sum by (carrier) (heliograph_carrier_rate_per_s)\`.

| name | type | labels | over machines | what it says |
|---|---|---|---|---|
${rows.sort().join('\n')}
`;
  await expect(page).toMatchFileSnapshot('../../docs/metrics.md');
});

test('docs/operations.md explains every alarm and what to do', () => {
  const rooms = ['actors', 'analytics', 'api', 'cluster', 'platform', 'policy', 'smpp'];
  const alarms = rooms
    .flatMap(filesOf)
    .flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\balarm: (?:'([a-z_]+)'|`carrier_\$\{state\}`)/g)].flatMap(
        ([, alarm]) => (alarm === undefined ? ['carrier_weak', 'carrier_down'] : [alarm]),
      ),
    );
  const page = readFileSync(join(root, 'docs/operations.md'), 'utf8');
  expect(alarms.length).toBeGreaterThan(10);
  expect([...new Set(alarms)].filter((alarm) => !page.includes(`\`${alarm}\``))).toEqual([]);
});

test('docs/operations.md names only existing metrics', async () => {
  const names = new Set(await Promise.all(Object.values(metrics).map(async (metric) => (await metric.get()).name)));
  const page = readFileSync(join(root, 'docs/operations.md'), 'utf8');
  const named = [...page.matchAll(/\bheliograph_[a-z_]+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ''));
  expect(named.length).toBeGreaterThan(10);
  // The roles of the database begin with the same word.
  for (const role of ['heliograph_owner', 'heliograph_app']) names.add(role);
  expect(named.filter((name) => !names.has(name) && !names.has(`${name}_count`))).toEqual([]);
});

test('the alert rules in docs/operations.md are rules', () => {
  const rules = alertRules();
  expect(rules.length).toBeGreaterThan(10);
  for (const rule of rules) {
    expect(rule).toMatchObject({
      alert: expect.any(String),
      expr: expect.any(String),
      labels: { severity: expect.stringMatching(/^(page|ticket)$/) },
    });
    expect(promqlError(rule.expr), rule.expr).toBeNull();
    expect(promqlError(`${rule.expr} by`), 'the grammar sees what is wrong').not.toBeNull();
  }
});

function filesOf(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(root, folder, file));
}
