// An event store that was upgraded from the last schema without hashes of numbers (007): what was recorded before has the number
// in full and the hash 0. It is listed by its number, the account that wrote last is found in it, and an erasure removes it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AnalyticsNode, startAnalytics } from '../../analytics/analytics-node.ts';
import { type EraseRowsReply, type ListMessagesReply, querySubjects } from '../../analytics/contract.ts';
import { placeOfRecipient } from '../../analytics/erasure/person-messages.ts';
import { type Engine, clickhouseDir, openEngine } from '../../analytics/store/engine.ts';
import { applySchema, schemaFiles } from '../../analytics/store/schema.ts';
import { type Erasure, newErasure, orderErasure } from '../../cluster/bus/erasures.ts';
import { numberKey } from '../../cluster/bus/installation-secret.ts';
import type { DeliveryEvent, EventContext } from '../../model/delivery-event.ts';
import { newAccountId } from '../../model/ids.ts';
import { NumberHashes } from '../../model/number-hash.ts';
import { numberKeyOf, suppressionPlaceOf } from '../../model/suppression.ts';
import { systemClock } from '../../platform/clock.ts';
import { maskNumber } from '../../platform/log.ts';
import { seededRandom } from '../../platform/random.ts';
import { patienceMs, until } from '../support/until.ts';
import { type EventBus, startEventBus } from './support/event-bus.ts';
import { account, contextOf, lifeOf } from './support/events.ts';
import { askStore } from './support/node.ts';

const person = '+8801999000111';
const neighbour = '+8801999000112';
const other = newAccountId(1_700_000_000_001);
/** The last version without hashes. */
const versionBefore = 7;

let events: EventBus;
let engine: Engine;
let node: AnalyticsNode;

const dayMs = 86_400_000;
const old = (more: Partial<EventContext>) => contextOf({ acceptedAtMs: systemClock.nowMs() - 40 * dayMs, ...more });
const mine = old({ recipient: person });
const elsewhere = old({ recipient: person, accountId: other });
const theirs = old({ recipient: neighbour });
const refused = old({ recipient: maskNumber(person) });

beforeAll(async () => {
  events = await startEventBus();
  engine = openEngine({ clickhouseUrl: null, dataDir: clickhouseDir(events.dataDir) });
  await applySchema(engine, { files: schemaFiles().slice(0, versionBefore) });
  await record([...lifeOf(mine), ...lifeOf(elsewhere), ...lifeOf(theirs)].filter(({ kind }) => kind !== 'intent'));
  const [accepted] = lifeOf(refused);
  await record([{ ...accepted, kind: 'refused' } as DeliveryEvent]);
  await applySchema(engine);
  node = await startAnalytics(events.bus, engine);
});
afterAll(async () => {
  await node.stop(5_000);
  await engine.close();
  await events.stop();
});

/** As the recorder of that version did. */
async function record(recorded: readonly DeliveryEvent[]): Promise<void> {
  const time = (ms: number) => (ms / 1_000).toFixed(3);
  const rows = recorded.map((event, at) =>
    [
      ...[event.eventId, event.kind, time(event.atMs), event.messageId, event.accountId, event.carrier, event.segment],
      ...[event.segments, event.category, event.sender, event.recipient, event.encoding, 1, time(event.acceptedAtMs)],
      ...[time(event.validUntilMs), 1, at, 0, time(event.atMs)],
    ].join('\t'),
  );
  await engine.insert(
    'sms_events (event_id, kind, at, message_id, account_id, carrier, segment, segments, category, sender, recipient, ' +
      'encoding, livemode, accepted_at, valid_until, stream_epoch, stream_seq, batch_index, recorded_at)',
    Buffer.from(`${rows.join('\n')}\n`),
  );
}

const rows: Engine['rows'] = (sql, params = {}) => engine.rows(sql, params, patienceMs);
const rowsOf = async (context: EventContext) => {
  const sql = 'SELECT message_id FROM sms_events WHERE message_id = {messageId:String}';
  return (await rows(sql, { messageId: context.messageId })).length;
};

async function listed(query: object): Promise<readonly string[]> {
  const reply = await until('an answer of the event store', async () => {
    const answer = await askStore<ListMessagesReply>(events.bus, querySubjects.list, { accountId: account, ...query });
    return answer.result !== 'unavailable' && answer;
  });
  return reply.result === 'found' ? reply.messages.map(({ id }) => id) : [];
}

async function erase(more: Partial<Erasure> = {}) {
  const numbers = new NumberHashes(await numberKey(events.bus));
  const by = { name: 'operator', from: 'test' };
  const of = { ...numbers.markOf(person), accountId: null, atMs: systemClock.nowMs(), by };
  const erasure = { ...newErasure(systemClock.nowMs(), of), ...more };
  await orderErasure(events.bus, erasure);
  return until('the erasure is done', async () => {
    const said = await askStore<EraseRowsReply>(events.bus, querySubjects.eraseRows, { erasure });
    return said.result === 'done' ? said.removed : null;
  });
}

test('a message is listed by its number, and a refused request by the masked one where those are asked for', async () => {
  expect(await listed({ to: person })).toEqual([mine.messageId]);
  expect(await listed({ to: neighbour })).toEqual([theirs.messageId]);
  expect(await listed({ to: person, status: 'blocked' })).toEqual([refused.messageId]);
});

test('an erasure removes it, of one account and of all, and no other person', async () => {
  // After the upgrade: with a hash.
  const later = contextOf({ recipient: person });
  await events.publish(lifeOf(later));
  await until('it is recorded', async () => (await rowsOf(later)) === 3);

  expect(await erase({ accountId: other })).toMatchObject({ messages: 1, sms_events: 3 });
  expect([await rowsOf(elsewhere), await rowsOf(mine)]).toEqual([0, 3]);

  expect(await erase({ atMs: systemClock.nowMs() - 20 * dayMs })).toMatchObject({ messages: 1, sms_events: 3 });
  expect([await rowsOf(mine), await rowsOf(later)]).toEqual([0, 3]);

  expect(await erase()).toMatchObject({ messages: 1, sms_events: 3 });
  expect(await Promise.all([mine, elsewhere, later, theirs].map(rowsOf))).toEqual([0, 0, 0, 3]);
  expect(await listed({ to: person })).toEqual([]);
});

test('the store computes the place of a number as PostgreSQL and the lists have it', async () => {
  const random = seededRandom(8);
  const numbers = Array.from(
    { length: 500 },
    (_, at) => `+${1 + Math.floor(random.unit() * 9)}${Math.floor(random.unit() * 10 ** (6 + (at % 9)))}`,
  );
  const found = await rows(
    `SELECT toUInt32(${placeOfRecipient}) FROM (SELECT arrayJoin({numbers:Array(String)}) AS recipient)`,
    { numbers },
  );
  expect(found.flat()).toEqual(numbers.map((number) => suppressionPlaceOf(numberKeyOf(number))));
});
