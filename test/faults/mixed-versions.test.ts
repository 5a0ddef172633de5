// A rolling upgrade: nodes of the previous version read what a newer node wrote. The records are written here as that
// newer version would write them; replay, follower and recorder are this version's, on a real nats-server and chDB.
import { Packr } from 'msgpackr';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { followEvents } from '../../actors/carrier/multi-node/follow.ts';
import { replayEvents } from '../../actors/carrier/deduplication/replay.ts';
import { listDead, readDead, replayDead } from '../../cluster/bus/dead-records.ts';
import { encodeEvents, readBatch } from '../../model/records/event-record.ts';
import { type DeliveryEvent, eventKinds } from '../../model/delivery-event.ts';
import { categories } from '../../model/message.ts';
import { until } from '../support/until.ts';
import { contextOf, lifeOf } from '../analytics/support/events.ts';
import { type TestNode, startNode } from '../analytics/support/node.ts';

const packr = new Packr({ useRecords: false });
let node: TestNode;
beforeEach(async () => {
  node = await startNode();
});
afterEach(() => node.stop());

type Positions = readonly unknown[];
const positionsOf = (event: DeliveryEvent): Positions =>
  (packr.unpack(encodeEvents([event])) as [number, Positions[]])[1][0]!;
const kindPlace = 1;
const categoryPlace = 14;

/**
 * One record as the next version writes it: further fields everywhere, one event of an unknown kind and one of an
 * unknown category.
 */
function recordOfNextVersion(known: readonly DeliveryEvent[], unknown: readonly [DeliveryEvent, DeliveryEvent]) {
  const [first, second] = unknown.map(positionsOf) as [Positions, Positions];
  const strange = [first.with(kindPlace, eventKinds.length), second.with(categoryPlace, categories.length)];
  const all = [...known.slice(0, 1).map(positionsOf), ...strange, ...known.slice(1).map(positionsOf)];
  const longer = all.map((each) => [
    ...each,
    ...Array.from({ length: 28 - each.length }, () => null),
    'new',
    { more: 1 },
  ]);
  return { octets: packr.pack([1, longer]), unread: [longer[1], longer[2]] };
}

const idsOf = (events: readonly DeliveryEvent[]) => events.map((event) => event.eventId).toSorted();

test('an unknown kind, an unknown category and further fields: all that is known is read, the rest is kept and replayed', async () => {
  const lives = [lifeOf(contextOf()), lifeOf(contextOf()), lifeOf(contextOf())];
  const [one, two, three] = lives as [DeliveryEvent[], DeliveryEvent[], DeliveryEvent[]];
  const { octets, unread } = recordOfNextVersion([...one, ...two], [three[2]!, three[3]!]);
  const following: DeliveryEvent[] = [];
  const learn = (event: DeliveryEvent) => void following.push(event);
  const follower = await followEvents({ bus: node.bus, carrier: 'sandbox', fromSeq: 1, writerId: 'own', learn });
  await node.publishOctets(octets);
  await node.publish(three.slice(0, 2));
  const known = [...one, ...two, ...three.slice(0, 2)];

  await until('the follower received all it knows', () => following.length === known.length);
  expect(idsOf(following)).toEqual(idsOf(known));
  await follower.stop();
  const replayed: DeliveryEvent[] = [];
  await replayEvents({ bus: node.bus, carrier: 'sandbox', fromSeq: 1, learn: (event) => void replayed.push(event) });
  expect(idsOf(replayed)).toEqual(idsOf(known));

  // The recorder has the rest, and DEAD exactly what it could not read, unchanged.
  const recorded = async () => {
    const rows = await node.engine.rows('SELECT DISTINCT message_id FROM sms_events', {}, 5_000);
    return rows.length === 3;
  };
  await until('the three messages are recorded', recorded);
  const { entries, total } = await listDead(node.bus, 'EVENTS', 10);
  expect(total).toBe(1);
  const dead = await readDead(node.bus, entries[0]!.seq);
  expect(readBatch(dead!.data).unread.map(({ raw }) => raw)).toEqual(unread);
  expect(dead!.reason).toContain('2 of');
  // A version that can read them gets them back where they were.
  expect(await replayDead(node.bus, dead!)).toEqual({ ok: true });
  await until('read again, and kept again by a version that still cannot', async () => {
    const again = await listDead(node.bus, 'EVENTS', 10);
    return again.total === 1 && again.entries[0]!.seq !== entries[0]!.seq;
  });
});
