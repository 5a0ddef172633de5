// A counter that begins with its first burst shows no rate for it: what an alert counts exists before anything happens.
import { afterEach, expect, test } from 'vitest';
import { metrics } from '../../../platform/telemetry.ts';
import { alertRules, countedBy } from '../../support/alert-rules.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../support/carrier-harness.ts';

type Collected = {
  readonly name: string;
  readonly values: readonly { readonly value: number; readonly labels: Readonly<Record<string, unknown>> }[];
};

let harness: CarrierHarness;
afterEach(() => harness.stop());

test('the counters of alert rules are 0 as soon as the carrier’s actor runs', async () => {
  harness = await openCarrierHarness();
  const counted = alertRules()
    .flatMap(({ expr }) => countedBy(expr))
    .filter(({ name }) => /^heliograph_carrier_.*_total$/.test(name));
  expect(new Set(counted.map(({ name }) => name)).size).toBeGreaterThanOrEqual(4);

  await harness.actor(carrierWith(harness.simulator));
  const all: Collected[] = await Promise.all(Object.values(metrics).map((metric) => metric.get()));
  for (const { name, labels } of counted) {
    const metric = all.find((each) => each.name === name);
    const wanted = Object.entries({ carrier: 'alpha', ...labels });
    const series =
      metric?.values.filter((each) => wanted.every(([label, value]) => each.labels[label] === value)) ?? [];
    expect(
      series.map(({ value }) => value),
      `${name} ${JSON.stringify(labels)}`,
    ).toContain(0);
  }
});
