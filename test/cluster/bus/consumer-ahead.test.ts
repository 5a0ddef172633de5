// A stream that nats-server restores from less than it had (a full disk, a loss of power): it numbers new records from
// where it is, and a consumer whose own state is whole takes them for delivered ones. One real nats-server, whose record
// files are removed while it is down. nats-server 2.15 keeps the place of a stream apart from its records and needs no repair.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Consumption, consumeStream } from '../../../cluster/bus/consume.ts';
import { watchStreams } from '../../../cluster/bus/stream-gauges.ts';
import { messageConsumer } from '../../../cluster/bus/streams.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { until } from '../../support/until.ts';

const stream = 'MT_OTP';
const subject = 'mt.otp.alpha.0';
let server: TestBus;
let taken: string[];
let consumption: Consumption;

beforeEach(async () => {
  server = await startBus();
  taken = [];
  consumption = await consumeStream(server.bus, {
    stream,
    consumer: messageConsumer('otp', 'alpha', 0, 20),
    prefetch: 64,
    handle: (record) => {
      taken.push(record.string());
      record.ack();
    },
  });
});
afterEach(async () => {
  await consumption.stop();
  await server.stop();
});

async function publish(count: number, name: string): Promise<string[]> {
  const texts = Array.from({ length: count }, (_, at) => `${name} ${at}`);
  for (const text of texts) {
    await until('it is stored', async () => {
      const answer = await server.bus.jetstream.publish(subject, text, { msgID: text }).catch(() => null);
      return answer !== null;
    });
  }
  return texts;
}
/** The server comes back without the records of the stream, and with its consumers. */
async function loseRecords(): Promise<void> {
  await server.nats.kill9();
  const folder = join(server.nats.dataDir, 'nats', 'store', 'jetstream', '$G', 'streams', stream, 'msgs');
  for (const file of readdirSync(folder)) rmSync(join(folder, file));
  await server.nats.restart();
  await until('the stream answers', async () => {
    const info = await server.bus.manager.streams.info(stream).catch(() => null);
    return info !== null;
  });
}

beforeEach(async () => {
  const before = await publish(300, 'before');
  await until('all is delivered', () => taken.length === before.length);
  await until('all is acked', async () => {
    const { num_ack_pending: waiting } = await server.bus.manager.consumers.info(stream, 'carrier_alpha_otp_0');
    return waiting === 0;
  });
  await loseRecords();
  taken = [];
});

/** With `watchStreams`, whose time goes on while it waits. */
async function untilTaken(texts: readonly string[]): Promise<void> {
  const clock = new ManualClock();
  const stop = watchStreams(server.bus, clock);
  try {
    await until('all of it is delivered', () => {
      clock.advance(limits.operations.streamsLookEveryMs);
      return texts.every((text) => taken.includes(text));
    });
  } finally {
    stop();
  }
}

test('what is stored after the loss is delivered, each once, and so is what comes later', async () => {
  const after = await publish(20, 'after');
  await untilTaken(after);
  const later = await publish(20, 'later');
  await until('so is what comes later', () => later.every((text) => taken.includes(text)));
  expect(taken.toSorted()).toEqual([...after, ...later].toSorted());
});

test('so is what was stored before the stream came to where the consumer is', async () => {
  const after = await publish(400, 'after');
  await until('the last ones are delivered', () => after.slice(300).every((text) => taken.includes(text)));
  await untilTaken(after);
  expect(taken.toSorted()).toEqual(after.toSorted());
});
