// A consumer that does not see records of its stream, because the server that leads it has an incomplete copy. Three
// real nats-servers. A server keeps such a copy now and then after a kill, not at will: so one with a complete copy is
// treated as if it had not.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Bus, connectBus } from '../../cluster/bus/connect.ts';
import { watchStreams } from '../../cluster/bus/stream-gauges.ts';
import { messageConsumer } from '../../cluster/bus/streams.ts';
import { isAgain } from '../../cluster/bus/republished.ts';
import { repair } from '../../cluster/bus/unseen-records.ts';
import { until } from '../support/until.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { type NatsCluster, startNatsCluster } from '../support/nats-cluster.ts';

let cluster: NatsCluster;
let bus: Bus;
beforeAll(async () => {
  cluster = await startNatsCluster();
  bus = await connectBus(cluster.url(), 'test');
});
afterAll(async () => {
  await bus.close();
  await cluster.stop();
});

const stream = 'MT_OTP';
const config = messageConsumer('otp', 'alpha', 0, 20);
const consumer = config.durable_name ?? '';
const subject = 'mt.otp.alpha.0';

/** During an election the servers do not answer. */
const found = <T>(what: string, look: () => Promise<T | false>) =>
  until(
    what,
    () =>
      look().catch((error: unknown) => {
        ignoring(error, 'it is asked again');
        return false as const;
      }),
    { everyMs: 100 },
  );
const leader = () =>
  found(
    'the consumer has a leader',
    async () => (await bus.manager.consumers.info(stream, consumer)).cluster?.leader ?? false,
  );

async function reportedSoFar(): Promise<number> {
  const { values } = await metrics.unseenRecords.get();
  return values.reduce((sum, { value }) => sum + value, 0);
}

test('a consumer that does not see what its stream has gets another leader', async () => {
  await bus.manager.consumers.add(stream, config);
  const before = await leader();
  await repair(bus, { why: 'unseen', stream, consumer, subject, atSeq: 0, lastSeq: 1 });
  await found('another server leads it', async () => {
    if ((await leader()) !== before) return true;
    // The election chose the same server: it is asked once more, as after the next checks.
    await repair(bus, { why: 'unseen', stream, consumer, subject, atSeq: 0, lastSeq: 1 });
    return false;
  });
  expect(await reportedSoFar()).toBeGreaterThan(0);
});

test('a record that its consumer counts as acked is published again once, by any number of nodes, and marked', async () => {
  const subjectOfFive = 'mt.otp.alpha.5';
  const { seq: lastSeq } = await bus.jetstream.publish(subjectOfFive, 'sealed', { msgID: 'msg_1.0' });
  const of = { stream, consumer: 'carrier_alpha_otp_5', subject: subjectOfFive };
  const stale = { why: 'acked', ...of, atSeq: lastSeq, lastSeq } as const;
  const others = await connectBus(cluster.url(1), 'another node');
  await Promise.all([repair(bus, stale), repair(others, stale)]);
  await others.close();
  const { state } = await bus.manager.streams.info(stream, { subjects_filter: subjectOfFive });
  expect(state.subjects).toEqual({ [subjectOfFive]: 1 });
  const record = await bus.manager.streams.getMessage(stream, { last_by_subj: subjectOfFive });
  expect(record?.seq).toBeGreaterThan(lastSeq);
  expect(record?.string()).toBe('sealed');
  expect(isAgain({ headers: record!.header })).toBe(true);
});

test('a record that waits without a taker is seen: its consumer is left alone, check after check', async () => {
  const before = await reportedSoFar();
  for (let n = 0; n < 50; n += 1) {
    await found('stored', async () => (await bus.jetstream.publish(subject, `${n}`)).seq > 0);
  }
  const clock = new ManualClock();
  metrics.streamMessages.reset();
  const stop = watchStreams(bus, clock);
  try {
    for (let look = 0; look < 8; look += 1) {
      await found('a look has been taken', async () => {
        const { values } = await metrics.streamMessages.get();
        return values.some(({ labels, value }) => labels['stream'] === stream && value >= 50);
      });
      metrics.streamMessages.reset();
      clock.advance(limits.operations.streamsLookEveryMs);
    }
    expect(await reportedSoFar()).toBe(before);
  } finally {
    stop();
  }
});
