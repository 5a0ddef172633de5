// The analytics role yields the processor to those that carry messages, and only while it keeps up.
import { existsSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { afterEach, describe, expect, test } from 'vitest';
import { niceFor, yieldProcessor } from '../../../cluster/roles/yield-processor.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { SmsClient } from '../../support/sms-client.ts';
import { endSystems } from '../../support/system.ts';
import { until } from '../../support/until.ts';
import { suspend } from '../../support/processes.ts';
import { startWholeSystem } from '../../support/whole-system.ts';

const { yieldsUntilLateMs, yieldsAgainBelowMs } = limits.recorder;

describe('the share of the processor', () => {
  test('follows how late the role is, and keeps its value in between', () => {
    for (const nice of [0, 10]) {
      expect(niceFor(yieldsUntilLateMs + 1, nice)).toBe(0);
      expect(niceFor(yieldsUntilLateMs, nice)).toBe(nice);
      expect(niceFor(yieldsAgainBelowMs, nice)).toBe(nice);
      expect(niceFor(yieldsAgainBelowMs - 1, nice)).toBe(10);
    }
  });

  test('is set when it changes, and again after it was refused', () => {
    const clock = new ManualClock();
    let lateMs = 0;
    let isRefused = true;
    const set: number[] = [];
    const stop = yieldProcessor(
      () => lateMs,
      clock,
      (nice) => {
        set.push(nice);
        return !isRefused;
      },
    );
    clock.advance(1_000);
    isRefused = false;
    clock.advance(2_000);
    lateMs = yieldsUntilLateMs + 1;
    clock.advance(2_000);
    expect(set).toEqual([10, 10, 10, 0]);
    stop();
    lateMs = 0;
    clock.advance(2_000);
    expect(set).toHaveLength(4);
  });
});

describe('in a system', () => {
  afterEach(endSystems);

  const configuration = `
country: { name: Test, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }
carriers: [{ name: alpha, tps: 100, simulate: true }]
`;
  const groupOf = (pid: number) => `/proc/${pid}/autogroup`;
  /** The nice value that counts where Linux groups processes by session (sched(7)); null elsewhere. */
  const groupNice = (pid: number) =>
    existsSync(groupOf(pid)) ? Number(/nice (-?\d+)/.exec(readFileSync(groupOf(pid), 'utf8'))?.[1]) : null;

  test('the analytics role yields, until it is late; roles that carry messages or serve people do not', async () => {
    const system = await startWholeSystem(configuration);
    const pid = await system.pidOf('analytics');
    const [yields, keepsUp] = groupNice(pid) === null ? [null, null] : [10, 0];
    expect(getPriority(pid)).toBe(5);
    await until('analytics yields', () => groupNice(pid) === yields);
    for (const name of ['ingress', 'actors', 'control', 'nats-server', 'postgres']) {
      const other = await system.pidOf(name);
      expect([getPriority(other), groupNice(other)], name).toEqual([0, keepsUp]);
    }
    const client = new SmsClient(system.httpPort, system.keys.liveKey);
    await suspend(pid);
    try {
      await client.send({ to: '+8801712345678', message: 'one that is recorded late' }, 'late-1');
      const sentAtMs = systemClock.monotonicMs();
      await until('its events are old', () => systemClock.monotonicMs() - sentAtMs > 3 * yieldsUntilLateMs);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await until('analytics has its share', () => groupNice(pid) === keepsUp);
    await until('analytics yields again', () => groupNice(pid) === yields);
    client.close();
    expect(await system.stop()).toBe(0);
  });
});
