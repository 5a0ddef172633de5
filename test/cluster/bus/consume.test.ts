// Consuming on a real nats-server: through restarts, through a consumer deleted under it, and never after stop.
import { AckPolicy, type JsMsg } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { lostTime } from '../../support/lost-time.ts';
import { connectBus } from '../../../cluster/bus/connect.ts';
import { type Consumption, consumeStream } from '../../../cluster/bus/consume.ts';
import { moveToDead } from '../../../cluster/bus/dead-letter.ts';
import { ensureConsumer, ensureStreams, openBucket } from '../../../cluster/bus/ensure.ts';
import { pullLastsMs } from '../../../cluster/bus/lost-pull.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { isRedelivered } from '../../../cluster/bus/redelivered.ts';
import { streamDeclarations } from '../../../cluster/bus/streams.ts';
import { systemClock } from '../../../platform/clock.ts';
import { within } from '../../support/running-clock.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestBus, recordsOf, startBus } from '../../support/bus.ts';

let test_: TestBus;
let publisher: Publisher;
const consumptions: Consumption[] = [];
beforeAll(async () => {
  test_ = await startBus();
  publisher = new Publisher(test_.bus);
});
afterEach(async () => {
  for (const each of consumptions.splice(0)) await each.stop();
});
afterAll(async () => {
  publisher.close();
  await test_.stop();
});

const config = (name: string) => ({
  durable_name: name,
  filter_subject: `mt.txn.${name}.>`,
  ack_policy: AckPolicy.Explicit,
  // Longer than a busy machine may stall: a record of a once-only test must not be redelivered.
  ack_wait: nanos(5_000),
  max_ack_pending: 1_000,
});
async function publishMany(carrier: string, from: number, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `${carrier}.${from + index}`);
  const results = await Promise.all(ids.map((id) => publisher.publishOne(`mt.txn.${carrier}.0`, Buffer.from(id), id)));
  expect(results.every((each) => each.ok)).toBe(true);
}
async function consume(name: string, handle: (record: JsMsg) => void, prefetch = 100): Promise<Consumption> {
  const consumption = await consumeStream(test_.bus, { stream: 'MT_TXN', consumer: config(name), prefetch, handle });
  consumptions.push(consumption);
  return consumption;
}

test('isRedelivered says the same as the client, and does not ask it at a first delivery', async () => {
  await publishMany('again', 0, 1);
  const found: [boolean, boolean][] = [];
  await consume('again', (record) => {
    // At a first delivery the client is not asked: a wrong answer of it would be seen.
    const asked = record.redelivered ? record : (Object.create(record, { redelivered: { value: true } }) as JsMsg);
    found.push([isRedelivered(asked), record.redelivered]);
    if (record.redelivered) record.ack();
    else record.nak();
  });
  await until('it came twice', () => found.length >= 2);
  expect(found).toEqual([
    [false, false],
    [true, true],
  ]);
  const withDomain = (deliveries: number) =>
    ({ reply: `$JS.ACK.hub.ABCDEF.S.C.${deliveries}.1.1.1.0.rnd`, redelivered: deliveries > 1 }) as unknown as JsMsg;
  expect([isRedelivered(withDomain(1)), isRedelivered(withDomain(2))]).toEqual([false, true]);
});

test('every record comes once, in order, and an acked one is gone', async () => {
  await publishMany('plain', 0, 300);
  const taken: string[] = [];
  await consume('plain', (record) => {
    taken.push(record.string());
    record.ack();
  });
  await until('all taken', () => taken.length >= 300);
  expect(taken).toEqual(Array.from({ length: 300 }, (_, index) => `plain.${index}`));
  await until('all acked', async () => {
    const info = await test_.bus.manager.consumers.info('MT_TXN', 'plain');
    return info.num_pending + info.num_ack_pending === 0;
  });
  expect(taken).toHaveLength(300);
});

test('kill -9 of the server and its restart are survived: everything comes, before and after', async () => {
  const taken = new Set<string>();
  await consume('killed', (record) => {
    taken.add(record.string());
    record.ack();
  });
  await publishMany('killed', 0, 100);
  await until('the first are there', () => taken.size === 100);
  await test_.nats.kill9();
  await test_.nats.restart();
  await until('publishing goes on', async () => (await publisher.publishOne('ev.ping.0', Buffer.from('x'), null)).ok);
  await publishMany('killed', 100, 100);
  await until('the rest is there', () => taken.size === 200);
});

test('a deleted consumer is created again and continues', async () => {
  const taken = new Set<string>();
  await consume('deleted', (record) => {
    taken.add(record.string());
    record.ack();
  });
  await publishMany('deleted', 0, 10);
  await until('the first are there', () => taken.size === 10);
  await test_.bus.manager.consumers.delete('MT_TXN', 'deleted');
  await publishMany('deleted', 10, 10);
  await until('the rest is there', () => taken.size === 20);
});

test('a pull that the server drops in silence, because a record comes as it ends, delays nothing', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `ends${index}`);
  const takenAtMs = new Map<string, number>();
  const handle = (record: JsMsg) => {
    takenAtMs.set(record.string(), systemClock.monotonicMs());
    record.ack();
  };
  // A prefetch so large that the time of a pull ends it, not its count.
  await Promise.all(names.map((name) => consume(name, handle, 100_000)));
  const beginAtMs = systemClock.nowMs() + pullLastsMs - 300;
  await until('the pulls are about to end', () => systemClock.nowMs() > beginAtMs);
  // From when a record is in the stream: a stalled server or process delays that as well.
  const storedAtMs = new Map<string, number>();
  const published: Promise<unknown>[] = [];
  const publish = async (name: string, id: string) => {
    const { ok } = await publisher.publishOne(`mt.txn.${name}.0`, Buffer.from(id), id);
    // A refused publish is not there.
    if (ok) storedAtMs.set(id, systemClock.monotonicMs());
  };
  const passed = () => {
    // Only a lost pull, and no backlog, is measured.
    if (published.length - takenAtMs.size < 100)
      for (const name of names) published.push(publish(name, `${name}.${published.length}`));
    return systemClock.nowMs() > beginAtMs + 800;
  };
  const lost = lostTime(test_.bus);
  // So many records that one comes in the very moment, for one of them at least.
  await until('they have ended', passed, { everyMs: 0 });
  await Promise.all(published);
  expect(storedAtMs.size).toBeGreaterThan(0);
  await until('all taken', () => [...storedAtMs.keys()].every((id) => takenAtMs.has(id)));
  const longestMs = Math.max(...[...storedAtMs].map(([id, atMs]) => takenAtMs.get(id)! - atMs));
  // A client left to itself waits until it has missed two heartbeats: a second.
  expect(longestMs).toBeLessThan(700 + lost.lostMs());
  await lost.stop();
});

test('no more records are held than max_ack_pending, and the rest comes as they are acked', async () => {
  await publishMany('bounded', 0, 50);
  const held: JsMsg[] = [];
  let taken = 0;
  const options = { stream: 'MT_TXN', consumer: { ...config('bounded'), max_ack_pending: 10 }, prefetch: 20 };
  consumptions.push(
    await consumeStream(test_.bus, {
      ...options,
      handle: (record) => {
        taken += 1;
        held.push(record);
      },
    }),
  );
  await until('the bound is reached', () => held.length >= 10);
  expect((await test_.bus.manager.consumers.info('MT_TXN', 'bounded')).num_ack_pending).toBe(10);
  expect(held).toHaveLength(10);
  await until('all came', () => {
    for (const record of held.splice(0)) record.ack();
    return taken === 50;
  });
});

test('after stop no record is delivered', async () => {
  const taken: string[] = [];
  const consumption = await consume('stopped', (record) => {
    taken.push(record.string());
    record.ack();
  });
  await publishMany('stopped', 0, 5);
  await until('the first are there', () => taken.length === 5);
  await consumption.stop();
  await publishMany('stopped', 5, 5);
  const waiting = async () => (await test_.bus.manager.consumers.info('MT_TXN', 'stopped')).num_pending;
  await until('they wait', async () => (await waiting()) === 5);
  expect(taken).toHaveLength(5);
});

test('a stop while the server is down is still in effect when it returns', async () => {
  const taken: string[] = [];
  const consumption = await consume('stopped-away', (record) => {
    taken.push(record.string());
    record.ack();
  });
  await test_.nats.kill9();
  const stopping = consumption.stop();
  await test_.nats.restart();
  await stopping;
  await until('publishing goes on', async () => (await publisher.publishOne('ev.ping.0', Buffer.from('x'), null)).ok);
  await publishMany('stopped-away', 0, 5);
  await until('they wait', async () => {
    const info = await test_.bus.manager.consumers.info('MT_TXN', 'stopped-away');
    return info.num_pending === 5 && info.num_waiting === 0;
  });
  expect(taken).toHaveLength(0);
});

describe('poison', () => {
  test('goes to DEAD with its reason and subject, and the stream continues', async () => {
    const taken: string[] = [];
    await publishMany('poison', 0, 3);
    await consume('poison', (record) => {
      if (record.string() === 'poison.1') return moveToDead(publisher, record, 'MT_TXN', 'not\r\nreadable');
      taken.push(record.string());
      record.ack();
    });
    const dead = await until('one in DEAD', async () => {
      const records = await recordsOf(test_.bus, 'DEAD', 'dead.MT_TXN');
      return records.length > 0 && records;
    });
    expect(Buffer.from(dead[0]!.data).toString()).toBe('poison.1');
    expect(dead[0]!.header('Heliograph-Reason')).toBe('not  readable');
    expect(dead[0]!.header('Heliograph-Subject')).toBe('mt.txn.poison.0');
    const settled = async () => {
      const info = await test_.bus.manager.consumers.info('MT_TXN', 'poison');
      return info.num_pending + info.num_ack_pending === 0;
    };
    await until('nothing is left behind', settled);
    expect(taken).toEqual(['poison.0', 'poison.2']);
  });

  test('a handler that throws harms no other record', async () => {
    await publishMany('throws', 0, 20);
    const taken = new Set<string>();
    await consume('throws', (record) => {
      if (record.string() === 'throws.5' && taken.size < 15) throw new Error('a bug in a handler');
      taken.add(record.string());
      record.ack();
    });
    await until('all others are there', () => taken.size >= 19, within(8_000));
  });

  test('a record whose handler fails again and again goes to DEAD with the reason, and the stream continues', async () => {
    await publishMany('fails', 0, 3);
    const taken: string[] = [];
    let failures = 0;
    consumptions.push(
      await consumeStream(test_.bus, {
        stream: 'MT_TXN',
        consumer: config('fails'),
        prefetch: 100,
        handle: (record) => {
          if (record.string() === 'fails.1') {
            failures += 1;
            throw new Error('a bug in a handler');
          }
          taken.push(record.string());
          record.ack();
        },
        onPoison: (record, reason) => moveToDead(publisher, record, 'MT_TXN', reason),
      }),
    );
    const inDead = async () => {
      const records = await recordsOf(test_.bus, 'DEAD', 'dead.MT_TXN');
      return records.find((each) => Buffer.from(each.data).toString() === 'fails.1');
    };
    const dead = await until('it is in DEAD', inDead);
    expect(dead.header('Heliograph-Reason')).toBe('a bug in a handler');
    expect(failures).toBe(limits.bus.handlerFailuresMax);
    expect(taken).toEqual(['fails.0', 'fails.2']);
  });
});

describe('setting up', () => {
  test('is idempotent, and safe from two connections at once on a fresh server', async () => {
    const fresh = await startBus('fresh');
    const other = await connectBus(fresh.nats.url, 'other');
    await fresh.bus.manager.streams.delete('LATER');
    await fresh.bus.manager.streams.delete('EVENTS');
    await Promise.all([ensureStreams(fresh.bus), ensureStreams(other), ensureStreams(fresh.bus), ensureStreams(other)]);
    await ensureStreams(other);
    for (const declaration of streamDeclarations()) {
      const { config: made } = await fresh.bus.manager.streams.info(declaration.name);
      expect(made).toMatchObject(declaration);
    }
    await other.close();
    await fresh.stop();
  });

  test('brings an older stream up to date and keeps its records', async () => {
    await publisher.publishOne('mo.kept', Buffer.from('kept'), null);
    const { config: before } = await test_.bus.manager.streams.info('INBOUND');
    await test_.bus.manager.streams.update('INBOUND', { ...before, max_bytes: 1_048_576 });
    await ensureStreams(test_.bus);
    const { config: after, state } = await test_.bus.manager.streams.info('INBOUND');
    expect(after.max_bytes).toBe(before.max_bytes);
    expect(state.messages).toBe(1);
  });

  test('a consumer is created once, by the first, and updated by later ones', async () => {
    const { manager } = test_.bus;
    await Promise.all([1, 2, 3].map(() => ensureConsumer(manager, 'MT_TXN', config('race'))));
    await ensureConsumer(manager, 'MT_TXN', { ...config('race'), max_ack_pending: 77 });
    expect((await manager.consumers.info('MT_TXN', 'race')).config.max_ack_pending).toBe(77);
  });

  test('a bucket is opened by two at once, and both see what one writes', async () => {
    const [one, other] = await Promise.all([openBucket(test_.bus, 'recorder'), openBucket(test_.bus, 'recorder')]);
    await one.put('k', 'v');
    expect((await other.get('k'))?.string()).toBe('v');
  });
});
