// Processes that carry no messages yield the processor to those that do.
import { existsSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { afterEach, expect, test } from 'vitest';
import { endSystems } from '../../support/system.ts';
import { startWholeSystem } from '../../support/whole-system.ts';

afterEach(endSystems);

const configuration = `
country: { name: Test, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }
carriers: [{ name: alpha, tps: 100, simulate: true }]
`;

/** The nice value that counts where Linux groups processes by session (sched(7)); the process's own elsewhere. */
function effectiveNice(pid: number): number {
  const group = `/proc/${pid}/autogroup`;
  return existsSync(group) ? Number(/nice (-?\d+)/.exec(readFileSync(group, 'utf8'))?.[1]) : getPriority(pid);
}

test('the analytics role runs at nice 10; roles that carry messages or serve people do not', async () => {
  const system = await startWholeSystem(configuration);
  const nicesOf = async (name: string) => {
    const pid = await system.pidOf(name);
    return [getPriority(pid), effectiveNice(pid)];
  };
  expect(await nicesOf('analytics')).toEqual([10, 10]);
  for (const name of ['ingress', 'actors', 'control', 'nats-server', 'postgres'])
    expect(await nicesOf(name), name).toEqual([0, 0]);
  expect(await system.stop()).toBe(0);
});
