// A carrier refuses temporarily and LATER does not accept what has to wait: full, busy, or without a leader (it is
// deleted, which a publisher sees in the same way). With several nodes an intent that is never closed would make all of
// them wait. Counted at the simulator and in EVENTS.
import { describe, expect, test } from 'vitest';
import { readDeferral } from '../../../../actors/carrier/deduplication/deferral-event.ts';
import { Publisher } from '../../../../cluster/bus/publisher.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { metrics } from '../../../../platform/telemetry.ts';
import { type CarrierHarness, carrierHarnessOf, carrierWith } from '../../../support/carrier-harness.ts';
import { nodeNamed } from '../../../support/host-process.ts';
import { type SentMessage, account, eventsOf, statesOf } from '../../../support/invariant.ts';

const submits = (harness: CarrierHarness) => harness.simulator.stats().submits.total;
/**
 * The whole carrier pauses half a minute after this refusal, and so does each of its messages: in LATER, if that
 * accepts it.
 */
const restsLong = { ESME_RMSGQFUL: 'stop' } as const;

/** LATER accepts nothing more. Returns what frees capacity again. */
async function fillLater({ bus: { manager } }: CarrierHarness): Promise<() => Promise<void>> {
  const { config } = await manager.streams.info('LATER');
  await manager.streams.update('LATER', { ...config, max_bytes: 1 });
  return async () => void (await manager.streams.update('LATER', config));
}

/** LATER does not answer. Returns what brings it back. */
async function endLater({ bus: { manager } }: CarrierHarness): Promise<() => Promise<void>> {
  const { config } = await manager.streams.info('LATER');
  await manager.streams.delete('LATER');
  return async () => void (await manager.streams.add(config));
}

/** The last event of each message at its carrier. */
async function lastEvents(harness: CarrierHarness, sent: readonly SentMessage[]) {
  const byMessage = Map.groupBy(await eventsOf(harness.bus), ({ messageId }) => messageId);
  return sent.map(({ messageId }) => byMessage.get(messageId)?.at(-1));
}

async function statusesOf(harness: CarrierHarness, sent: readonly SentMessage[]) {
  const states = await statesOf(harness.bus);
  return new Set(sent.map(({ messageId }) => states.get(messageId)?.status));
}

// Each waits most of its time.
describe.concurrent('a temporary refusal, and', () => {
  test('LATER full while the carrier is full too: all of it waits in memory, and is sent once when both have capacity', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished);
    harness.simulator.setFault('queue-full');
    const makeRoom = await fillLater(harness);
    await harness.host([carrierWith(harness.simulator)], { shared: nodeNamed('n1'), logLevel: 'warn' });
    const sent = await harness.send(200);
    await until('most were refused three times', () => submits(harness) > 500);
    expect(await statusesOf(harness, sent)).toEqual(new Set(['accepted']));
    harness.simulator.setFault(null);
    await makeRoom();
    expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 200 } });
  });

  test('kill -9 while they wait in memory: another node knows that they were refused, and sends each once', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished);
    harness.simulator.setFault('queue-full');
    await fillLater(harness);
    const carrier = carrierWith(harness.simulator, { errors: restsLong, tps: 5_000 });
    const first = await harness.host([carrier], { shared: nodeNamed('n1'), logLevel: 'warn' });
    const sent = await harness.send(20);
    // Refused, deferred, and taken back because LATER is full: none has an open intent.
    await until('all of them rest', async () => {
      const last = await lastEvents(harness, sent);
      return last.every((event) => event?.kind === 'deferred' && event.segment === 1 && readDeferral(event) === null);
    });
    await first.kill9();
    harness.simulator.setFault(null);
    await harness.host([carrier], { shared: nodeNamed('n2'), logLevel: 'warn' });
    expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 20 } });
  });

  test('LATER without a leader: deferred messages wait for it, expire when their validity ends, and nothing is unknown', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished);
    harness.simulator.setFault('queue-full');
    const bringBack = await endLater(harness);
    await harness.host([carrierWith(harness.simulator, { errors: restsLong })], {
      shared: nodeNamed('n1'),
      logLevel: 'warn',
    });
    const sent = await harness.send(20);
    const short = await harness.send(20, { validUntilMs: systemClock.nowMs() + 4_000 });
    await until('refused', () => submits(harness) >= 1);
    await until('those expire', async () => [...(await statusesOf(harness, short))].join() === 'expired');
    expect(await statusesOf(harness, sent)).toEqual(new Set(['accepted']));
    harness.simulator.setFault(null);
    await bringBack();
    expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 20 } });
    expect(await account(harness.bus, harness.simulator, short)).toMatchObject({
      twice: [],
      statuses: { expired: 20 },
    });
  });

  test('kill -9 while LATER has no leader: another node defers them instead, once, and nothing is unknown', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished);
    harness.simulator.setFault('queue-full');
    const bringBack = await endLater(harness);
    const carrier = carrierWith(harness.simulator, { errors: restsLong, tps: 5_000 });
    const first = await harness.host([carrier], { shared: nodeNamed('n1'), logLevel: 'warn' });
    const sent = await harness.send(20);
    await until('all are deferred in memory', async () => {
      const last = await lastEvents(harness, sent);
      return last.every((event) => event !== undefined && readDeferral(event) !== null);
    });
    await first.kill9();
    harness.simulator.setFault(null);
    await harness.host([carrier], { shared: nodeNamed('n2'), logLevel: 'warn' });
    await bringBack();
    expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 20 } });
  });

  test('LATER busy: what exceeds the publishes in flight waits in memory, and is sent once', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished);
    harness.simulator.setFault('sys-err', { limit: 180 });
    const publisher = new Publisher(harness.bus, { deadlineMs: Number.POSITIVE_INFINITY, inFlightMax: 1 });
    const more = { publisher };
    await harness.actor(carrierWith(harness.simulator), systemClock, undefined, undefined, undefined, more);
    const sent = await harness.send(60);
    expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 60 } });
    const { values } = await metrics.deferralsInMemory.get();
    expect(values.reduce((sum, { value }) => sum + value, 0)).toBeGreaterThan(0);
    publisher.close();
  });

  test('refused in memory more often than attempts are counted, then kill -9: still known as refused, and sent once', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished);
    harness.simulator.setFault('sys-err');
    await fillLater(harness);
    const carrier = carrierWith(harness.simulator, { tps: 100 });
    const first = await harness.host([carrier], { logLevel: 'warn' });
    const sent = await harness.send(1, { category: 'otp' });
    await until('seventeen tries', () => submits(harness) >= 17, { everyMs: 5 });
    // Not between the deferral and its refusal by LATER: then only LATER may have it, and LATER stays full.
    const isTakenBack = async () => {
      const [event] = await lastEvents(harness, sent);
      return event?.kind === 'deferred' && readDeferral(event) === null;
    };
    await until('the last is taken back', isTakenBack, { everyMs: 5 });
    await first.kill9();
    harness.simulator.setFault(null);
    await harness.host([carrier], { logLevel: 'warn' });
    expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 1 } });
  });
});
