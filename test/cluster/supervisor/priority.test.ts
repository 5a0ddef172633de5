// Processes that carry no messages yield the processor to those that do.
import { getPriority } from 'node:os';
import { afterEach, expect, test } from 'vitest';
import { endSystems } from '../../support/system.ts';
import { startWholeSystem } from '../../support/whole-system.ts';

afterEach(endSystems);

const configuration = `
country: { name: Test, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }
carriers: [{ name: alpha, tps: 100, simulate: true }]
`;

test('the analytics role runs at nice 5; roles that carry messages or serve people do not', async () => {
  const system = await startWholeSystem(configuration);
  const niceOf = async (name: string) => getPriority(await system.pidOf(name));
  expect(await niceOf('analytics')).toBe(5);
  for (const name of ['ingress', 'actors', 'control', 'nats-server', 'postgres'])
    expect(await niceOf(name), name).toBe(0);
  expect(await system.stop()).toBe(0);
});
