// The keeper of a bind: backoff on a manual clock, and real reconnects to the simulator.
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { limits } from '../../platform/limits.ts';
import { commandStatus } from '../../model/command-status.ts';
import { Keepalive, type openSession } from '../../smpp/session.ts';
import { BindKeeper, type KeeperHandlers, type KeeperOptions } from '../../smpp/bind-keeper.ts';
import { ReconnectBudget } from '../../smpp/reconnect-budget.ts';
import type { CloseCause, SessionHandlers } from '../../smpp/session-contract.ts';
import { bindFields } from './bind-fields.ts';
import { startSimulator } from '../../smpp/simulator/simulator.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { freePort } from '../../cluster/embedded/ports.ts';

const options = {
  host: '127.0.0.1',
  port: 1,
  bind: { type: 'transceiver' as const, ...bindFields('heliograph', 'sandbox') },
  windowPdusMax: 10,
  responseTimerMs: 1_000,
  enquireLinkMs: 10_000,
};

// A session controlled by the test, through KeeperOptions.open, so that hours take no time.
function scripted(overrides: Partial<KeeperOptions> = {}) {
  const clock = new ManualClock();
  const opened: SessionHandlers<string>[] = [];
  const story: string[] = [];
  const delays: number[] = [];
  const open = ((_options: unknown, handlers: SessionHandlers<string>) => {
    opened.push(handlers);
    return { close: async () => handlers.onClosed({ kind: 'asked', why: 'test' }, []) };
  }) as unknown as typeof openSession;
  const keeper = new BindKeeper<string>(
    { ...options, clock, open, random: { unit: () => 0.999999 }, ...overrides },
    {
      onBound: () => story.push('bound'),
      onSubmitResponse: () => {},
      onSubmitTimeout: () => {},
      onDeliver: () => {},
      onWindowOpen: () => {},
      onClosed: (cause, outstanding) => story.push(`closed ${cause.kind} ${outstanding.join()}`),
      onStopped: (reason) => story.push(`stopped: ${reason}`),
      onRetry: (_attempt, delayMs) => delays.push(delayMs),
    },
  );
  clock.advance(0);
  const end = (cause: CloseCause, outstanding: string[] = []) => opened.at(-1)!.onClosed(cause, outstanding);
  return { clock, opened, story, delays, keeper, end };
}

const refused = (status: number): CloseCause => ({ kind: 'bind_refused', status, why: 'refused' });
const failed: CloseCause = { kind: 'connect_failed', why: 'no route' };

describe('the keeper', () => {
  test('rests on request, and opens nothing until wake()', async () => {
    const run = scripted();
    run.opened[0]!.onBound();
    await run.keeper.rest('drained', 1_000);
    expect([run.keeper.state, run.story]).toEqual(['resting', ['bound', 'closed asked ']]);
    run.keeper.retry();
    run.clock.advance(3_600_000);
    expect(run.opened).toHaveLength(1);
    run.keeper.wake();
    run.clock.advance(0);
    expect([run.keeper.state, run.opened.length]).toEqual(['connecting', 2]);
  });

  test('rests in the middle of a wait and after it was refused, and is woken while its session still ends', async () => {
    const run = scripted();
    run.end(failed);
    await run.keeper.rest('drained', 1_000);
    run.clock.advance(60_000);
    expect(run.opened).toHaveLength(1);
    run.keeper.wake();
    run.clock.advance(0);
    run.opened[1]!.onBound();
    run.end(refused(commandStatus.ESME_RINVPASWD));
    await run.keeper.rest('drained', 1_000);
    expect(run.keeper.state).toBe('resting');

    let end = () => {};
    const slow = scripted({
      open: ((_options: unknown, handlers: SessionHandlers<string>) => ({
        close: async () => void (end = () => handlers.onClosed({ kind: 'asked', why: 'test' }, [])),
      })) as unknown as typeof openSession,
    });
    void slow.keeper.rest('drained', 1_000);
    slow.keeper.wake();
    expect(slow.keeper.state).toBe('waiting');
    end();
    expect(slow.delays).toHaveLength(1);
    slow.clock.advance(1_000);
    expect(slow.keeper.state).toBe('connecting');
  });

  test('retries at once on request, also instead of a long wait', () => {
    const run = scripted();
    run.end(refused(commandStatus.ESME_RALYBND));
    run.keeper.retry();
    run.clock.advance(0);
    expect(run.opened).toHaveLength(2);
    run.clock.advance(600_000);
    expect(run.opened).toHaveLength(2);
  });

  test('doubles its longest wait from one second to one minute', () => {
    const run = scripted();
    for (let turn = 0; turn < 9; turn += 1) {
      run.end(failed);
      run.clock.advance(60_000);
    }
    expect(run.delays.map((delay) => delay + 1)).toEqual([
      1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000,
    ]);
    expect(run.opened.length).toBe(10);
  });

  test('spreads its retries over the whole of that wait', () => {
    const run = scripted({ random: { unit: () => 0 } });
    run.end(failed);
    expect(run.delays).toEqual([0]);
  });

  test('retries at once after a session that was bound, and restarts after a stable one', () => {
    const run = scripted();
    run.opened[0]!.onBound();
    run.end({ kind: 'peer_closed', why: 'cut' }, ['x']);
    expect(run.delays.at(-1)).toBeLessThan(limits.smpp.reconnectQuickMs);
    run.clock.advance(1_000);
    run.opened[1]!.onBound();
    run.clock.advance(limits.smpp.stableMs - 1);
    run.end(failed);
    expect(run.delays.at(-1)).toBe(1_999);
    run.clock.advance(2_000);
    run.opened[2]!.onBound();
    run.clock.advance(limits.smpp.stableMs);
    run.end(failed);
    expect(run.delays.at(-1)).toBeLessThan(limits.smpp.reconnectQuickMs);
    expect(run.story[1]).toBe('closed peer_closed x');
  });

  test('waits past the inactivity timer when its own ghost is still bound', () => {
    const run = scripted();
    run.end(refused(commandStatus.ESME_RALYBND));
    expect(run.delays[0]).toBeGreaterThanOrEqual(limits.smpp.ghostSessionMs);
    expect(run.delays[0]).toBeLessThanOrEqual(limits.smpp.ghostSessionMs * 1.25);
  });

  test.each(['ESME_RINVPASWD', 'ESME_RINVSYSID', 'ESME_RBINDFAIL'] as const)('stops at %s until asked', (name) => {
    const run = scripted();
    run.end(refused(commandStatus[name]));
    run.clock.advance(24 * 3_600_000);
    expect(run.opened.length).toBe(1);
    expect(run.keeper.state).toBe('stopped');
    expect(run.story.at(-1)).toContain(name);
    run.keeper.retry();
    run.clock.advance(0);
    expect(run.opened.length).toBe(2);
  });

  test('continues after any other refusal', () => {
    const run = scripted();
    run.end(refused(commandStatus.ESME_RSYSERR));
    run.clock.advance(1_000);
    expect(run.opened.length).toBe(2);
  });

  test('tries no more once it is closed, also while it waits', async () => {
    const run = scripted();
    run.end(failed);
    await run.keeper.close('done', 0);
    run.clock.advance(3_600_000);
    expect(run.opened.length).toBe(1);
    expect(run.clock.timers).toBe(0);
  });

  test('shares a budget with the others: 200 binds reconnect evenly', () => {
    const clock = new ManualClock();
    const times: number[] = [];
    const open = (() => void times.push(clock.monotonicMs())) as unknown as typeof openSession;
    const budget = new ReconnectBudget(20, 4);
    for (let bind = 0; bind < 200; bind += 1) {
      new BindKeeper({ ...options, clock, open, budget }, {} as KeeperHandlers<unknown>);
    }
    clock.advance(60_000);
    expect(times.length).toBe(200);
    for (let at = 0; at + 24 < times.length; at += 1)
      expect(times[at + 24]! - times[at]!).toBeGreaterThanOrEqual(1_000);
    expect(times.at(-1)! - times[0]!).toBeLessThan(11_000);
  });
});

test('a stalled event loop causes no burst of connections: expired slots are reserved again', () => {
  const clock = new ManualClock();
  const times: number[] = [];
  const open = (() => void times.push(clock.monotonicMs())) as unknown as typeof openSession;
  const { connectsPerSecond, lateTurnMsMax } = limits.smpp;
  const budget = new ReconnectBudget(connectsPerSecond, 4);
  for (let bind = 0; bind < 200; bind += 1) {
    new BindKeeper({ ...options, clock, open, budget }, {} as KeeperHandlers<unknown>);
  }
  clock.advance(1_000);
  clock.stall(5_000);
  const stalledAtMs = clock.monotonicMs();
  const atOnce = times.filter((time) => time === stalledAtMs).length;
  expect(atOnce).toBeGreaterThan(0);
  expect(atOnce).toBeLessThanOrEqual((connectsPerSecond * lateTurnMsMax) / 1_000 + 4);
  clock.advance(60_000);
  expect(times.length).toBe(200);
  const inAnySecond = times.map((from) => times.filter((time) => time >= from && time < from + 1_000).length);
  expect(Math.max(...inAnySecond)).toBeLessThanOrEqual(2 * connectsPerSecond + 4);
  expect(times.at(-1)! - times[0]!).toBeLessThan(20_000);
});

describe('the keepalive', () => {
  test('does not mistake its own stalled event loop for a dead peer', () => {
    const keepalive = new Keepalive(1_000);
    expect(keepalive.tick(1_000)).toBe('ask');
    expect(keepalive.tick(4_000)).toBe('wait');
    keepalive.answered();
    expect(keepalive.tick(5_000)).toBe('ask');
    expect(keepalive.tick(6_000)).toBe('dead');
  });
});

describe('the keeper with the simulator', () => {
  const keepers: BindKeeper<string>[] = [];
  afterEach(async () => {
    await Promise.all(keepers.splice(0).map((keeper) => keeper.close('test is over', 0)));
  });

  test('reconnects after a cut, and after the carrier was down', async () => {
    const port = await freePort();
    const first = await startSimulator({ port });
    const closes: string[] = [];
    const keeper = new BindKeeper<string>(
      { ...options, port, clock: systemClock, random: { unit: () => 0.05 } },
      {
        onBound: () => {},
        onSubmitResponse: () => {},
        onSubmitTimeout: () => {},
        onDeliver: (_pdu, respond) => respond(0),
        onWindowOpen: () => {},
        onClosed: (cause) => closes.push(cause.kind),
        onStopped: () => {},
      },
    );
    keepers.push(keeper);
    await until('the bind', () => keeper.state === 'bound');
    first.setFault('drop', { now: true });
    await until('the bind again', () => first.stats().binds.total === 2 && keeper.state === 'bound');
    await first.close();
    await until('some refused connections', () => closes.filter((kind) => kind === 'connect_failed').length >= 2);
    const second = await startSimulator({ port });
    await until('the bind once more', () => keeper.state === 'bound');
    await keeper.close('done', 500);
    await until('the unbind', () => second.stats().binds.now === 0);
    await second.close();
  });

  test('binds once with a wrong password, and does not retry', async () => {
    const smsc = await startSimulator();
    const reasons: string[] = [];
    const bind = { type: 'transceiver' as const, ...bindFields('heliograph', 'wrong') };
    const keeper = new BindKeeper<string>(
      { ...options, bind, port: smsc.port, clock: systemClock, random: { unit: () => 0 } },
      {
        onBound: () => {},
        onSubmitResponse: () => {},
        onSubmitTimeout: () => {},
        onDeliver: () => {},
        onWindowOpen: () => {},
        onClosed: () => {},
        onStopped: (reason) => reasons.push(reason),
      },
    );
    keepers.push(keeper);
    await until('the stop', () => reasons.length === 1);
    expect(reasons[0]).toContain('ESME_RINVPASWD');
    expect(smsc.stats().connections).toBe(1);
    await smsc.close();
  });
});
