// Replays of everything that webhooks are sent: messages, one-time passwords, blocks and clicks go from their own parts
// through the streams into the event store and to receivers, and from the event store to the receivers again.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { OtpEvents } from '../../../actors/otp-events/otp-events.ts';
import { type Busy, type ReplayAnswer, webhookSubjects } from '../../../actors/webhook/contract.ts';
import { type EraseRowsReply, querySubjects } from '../../../analytics/contract.ts';
import { schemaFiles } from '../../../analytics/store/schema.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { newErasure, orderErasure } from '../../../cluster/bus/erasures.ts';
import { numberKey } from '../../../cluster/bus/installation-secret.ts';
import { putBlock } from '../../../cluster/bus/otp-guard-bucket.ts';
import { factSubjects } from '../../../cluster/bus/subjects.ts';
import type { WebhookEntry } from '../../../directory/contract.ts';
import type { EventContext } from '../../../model/delivery-event.ts';
import { otpFactsOf } from '../../../model/fact.ts';
import { type AccountId, type MessageId } from '../../../model/ids.ts';
import { NumberHashes } from '../../../model/number-hash.ts';
import type { Otp } from '../../../model/otp.ts';
import type { Click } from '../../../model/records/click-record.ts';
import { encodeFact } from '../../../model/records/fact-record.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { contextOf, lifeOf } from '../../analytics/support/events.ts';
import { type TestNode, startNode } from '../../analytics/support/node.ts';
import { type OtpNumbers, openOtpNumbers, otpNumber } from '../../support/otp-numbers.ts';
import { publishClickedMessage } from '../../support/clicked-message.ts';
import { until } from '../../support/until.ts';
import {
  type Receiver,
  type RunningWebhooks,
  putAccount,
  putEndpoint,
  runWebhooks,
  startReceiver,
} from '../../support/webhooks.ts';

let node: TestNode;
let running: RunningWebhooks;
let publishing: OtpEvents;
let accountId: AccountId;
const open: { close(): unknown }[] = [];

beforeAll(async () => {
  node = await startNode();
  running = await runWebhooks(node.bus);
  await until('it delivers', () => running.node.state === 'delivers');
  // Ends by time are published a while after them.
  const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + limits.facts.graceMs };
  publishing = await OtpEvents.start({ bus: node.bus, bucket: await openBucket(node.bus, 'otp_events'), clock });
});
beforeEach(async () => {
  accountId = await putAccount(node.bus);
});
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});
afterAll(async () => {
  await publishing?.stop();
  await running?.stop();
  await node?.stop();
});

const minuteMs = 60_000;
const sinceMs = systemClock.nowMs() - 60 * minuteMs;

type Hook = Receiver & { readonly endpoint: WebhookEntry; readonly endpointId: string; readonly accountId: AccountId };
async function hook(of: { accountId?: AccountId; events?: readonly string[]; livemode?: boolean } = {}): Promise<Hook> {
  const made = await startReceiver();
  open.push(made);
  const owner = of.accountId ?? accountId;
  const { entry } = await putEndpoint(node.bus, { accountId: owner, url: made.url, createdAtMs: sinceMs, ...of });
  await until('it is known', () => running.directory.webhookEndpoint(entry.id) !== undefined);
  return Object.assign(made, { endpoint: entry, endpointId: entry.id, accountId: owner });
}

async function replay(
  { endpoint, endpointId, accountId: owner }: Hook,
  what: { eventId?: string | undefined; sinceMs?: number; untilMs?: number } = { sinceMs },
) {
  const time = { sinceMs: 0, untilMs: systemClock.nowMs() + minuteMs };
  const asked = JSON.stringify({ accountId: owner, endpointId, endpoint, eventId: null, ...time, ...what });
  const answer = async () =>
    (await node.bus.connection.request(webhookSubjects.replay, asked, { timeout: 10_000 })).json<ReplayAnswer | Busy>();
  // Earlier ones may still be on their way, and the event store of a busy machine late.
  return until('no other replay', async () => {
    const said = await answer();
    const isLater = 'busy' in said || (!said.ok && ['running', 'event_store_away', 'behind'].includes(said.why));
    return isLater ? null : said;
  });
}
const sent = (events: number) => ({ ok: true, events });
const nothing = { ok: false, why: 'not_found' };
const said = ({ received }: Receiver, from = 0) =>
  received
    .slice(from)
    .map(({ id, body }) => `${id} ${body}`)
    .sort();
const typesOf = ({ received }: Receiver, from = 0) =>
  received
    .slice(from)
    .map(({ json }) => json.type)
    .sort();
const idOf = ({ received }: Receiver, type: string) => received.find(({ json }) => json.type === type)?.id;
const came = (to: Receiver, count: number) => until(`${count} events`, () => to.received.length >= count);

function numbersOf(owner: AccountId, livemode = true): OtpNumbers {
  const numbers = openOtpNumbers(node.bus, owner, livemode);
  open.push(numbers);
  return numbers;
}

/** The messages of a one-time password, as their events say it. */
async function publishMessages(owner: AccountId, to: string, otp: Otp, messageIds = [otp.sends[0]?.messageId]) {
  const { clientReference, createdAtMs: acceptedAtMs } = otp;
  for (const messageId of messageIds) {
    const context = { messageId: String(messageId), accountId: owner, recipient: to, clientReference, acceptedAtMs };
    await node.publish(lifeOf(contextOf({ ...context, category: 'otp' })));
  }
}

const publishClicks = (recipient: string, clicks: readonly Partial<Click>[]) =>
  publishClickedMessage(node, { accountId, recipient }, clicks);

async function recorded(messages: number, clicks: number): Promise<void> {
  await until('every fact is recorded', async () => {
    const { num_pending, num_ack_pending } = await node.bus.manager.consumers.info('FACTS', 'facts_recorder');
    return num_pending + num_ack_pending === 0;
  });
  const rowsOf = async (what: string, table: string) => {
    const ofAccount = `SELECT toUInt32(${what}) FROM ${table} WHERE account_id = {accountId:String}`;
    return (await node.engine.rows(ofAccount, { accountId }))[0]?.[0];
  };
  await until('every message is recorded', async () => {
    return (await rowsOf('uniqExact(message_id)', 'sms_events')) === messages;
  });
  await until('every click is recorded', async () => (await rowsOf('count()', 'link_clicks')) === clicks);
}

/** Of the account: an end of each kind, with the messages' own events, a block and four clicks. */
async function everyEvent(): Promise<void> {
  const numbers = numbersOf(accountId);
  const startMs = systemClock.nowMs() - minuteMs;
  const start = (nth: number, of: Partial<Otp> = {}) =>
    numbers.start(otpNumber(nth), { createdAtMs: startMs, expiresAtMs: startMs + 5 * minuteMs, ...of });

  const verified = await start(1, { clientReference: 'order-7', purpose: 'sign_in' });
  const again = await numbers.resend(verified.id, startMs + 20_000);
  await numbers.verify(verified.id, startMs + 31_234);
  await publishMessages(accountId, otpNumber(1), verified, [verified.sends[0]?.messageId, again]);

  const tried = await start(2, { language: null });
  for (let at = 0; at < 5; at += 1) await numbers.guessWrong(tried.id, startMs + 1_000 + at);
  await publishMessages(accountId, otpNumber(2), tried);
  const canceled = await start(5);
  await numbers.cancel(canceled.id, startMs + 1_000);
  await numbers.withdraw(await start(6), startMs + 5);

  // Their time is over: what became of their messages is asked at once.
  const acceptedAtMs = systemClock.nowMs() - 20 * minuteMs;
  const over = { createdAtMs: acceptedAtMs, expiresAtMs: acceptedAtMs + 5 * minuteMs };
  const [lost, arrived] = [3, 4].map((nth) => {
    return contextOf({ accountId, recipient: otpNumber(nth), category: 'otp', acceptedAtMs });
  }) as [EventContext, EventContext];
  const undelivered = lifeOf(lost).map((event) => {
    return event.kind === 'delivered' ? { ...event, kind: 'undelivered' as const } : event;
  });
  await node.publish([...undelivered, ...lifeOf(arrived)]);
  for (const { recipient, messageId } of [lost, arrived]) {
    const sends = [{ messageId: messageId as MessageId, atMs: acceptedAtMs }];
    await numbers.start(recipient, { ...over, sends });
  }

  const fromMs = systemClock.nowMs() - 10 * minuteMs;
  await putBlock(node.bus, await openBucket(node.bus, 'otp_guard'), {
    ...{ accountId, prefix: '+880171234', rule: 'conversion', statistic: Math.log(7) * 6.1, threshold: 11.5 },
    ...{ times: 2, shadow: true, fromMs, untilMs: fromMs + 20 * minuteMs, released: null, note: '' },
  });
  await publishClicks(otpNumber(7), [{}, { hasLanguage: false }, { isHead: true }, { index: 900_000 }]);
}
const ends = [...['otp.failed', 'otp.failed', 'otp.failed'], 'otp.verified'];
const facts = ['link.clicked', 'link.clicked', ...['otp.blocked', ...ends]];
/** Of the six messages. */
const ofMessages = [
  ...Array.from({ length: 5 }, () => 'sms.delivered'),
  ...Array.from({ length: 6 }, () => 'sms.submitted'),
];
const everyType = [...facts, ...ofMessages, 'sms.undelivered'].sort();

test('since a time, and of one event: under the same ids, with the same bodies', async () => {
  const all = await hook();
  await everyEvent();
  await came(all, everyType.length);
  await recorded(6, 4);
  expect(typesOf(all)).toEqual(everyType);
  const reasons = all.received.flatMap(({ json: { data } }) =>
    data['object'] === 'otp' ? [data['reason'] ?? ''] : [],
  );
  expect(new Set(reasons)).toEqual(new Set(['', 'delivery_failed', 'expired', 'max_attempts_reached']));

  const first = said(all);
  expect(await replay(all)).toEqual(sent(everyType.length));
  await came(all, first.length * 2);
  expect(said(all, first.length)).toEqual(first);

  for (const type of new Set(facts)) {
    const before = all.received.length;
    expect(await replay(all, { eventId: idOf(all, type) })).toEqual(sent(1));
    await came(all, before + 1);
    expect([type, first.includes(said(all, before)[0] ?? '')]).toEqual([type, true]);
  }
  expect(await replay(all, { eventId: 'evt_0000000000000000000000' })).toEqual(nothing);

  // A time that has none of them.
  expect(await replay(all, { sinceMs, untilMs: sinceMs + minuteMs })).toEqual(sent(0));
  // One that ends with the moment of the first end by a person, and one that begins with it.
  const atMs = Date.parse(all.received.find(({ json }) => json.type === 'otp.verified')?.json.timestamp ?? '');
  const only = await hook({ events: ['otp.verified'] });
  expect(await replay(only, { sinceMs, untilMs: atMs })).toEqual(sent(0));
  expect(await replay(only, { sinceMs: atMs, untilMs: atMs + 1 })).toEqual(sent(1));
  await came(only, 1);
});

test('only what an endpoint subscribes to, of its account and mode', async () => {
  const all = await hook();
  const [requested, failed] = [await hook({ events: ['link.requested'] }), await hook({ events: ['otp.failed'] })];
  const [tested, callbacks] = [await hook({ livemode: false }), await hook({ events: [] })];
  const other = await putAccount(node.bus);
  const theirs = await hook({ accountId: other });
  await everyEvent();
  const test_ = numbersOf(accountId, false);
  await test_.verify((await startedIn(test_, accountId, false)).id);
  const foreign = numbersOf(other);
  await foreign.verify((await startedIn(foreign, other, true)).id);

  const hooks = [all, requested, failed, tested, theirs];
  const counts = [everyType.length, 2, 3, 3, 3];
  await Promise.all(hooks.map((each, at) => came(each, counts[at] ?? 0)));
  await recorded(7, 4);
  const first = hooks.map((each) => said(each));
  expect(first.map(({ length }) => length)).toEqual(counts);

  for (const [at, each] of hooks.entries()) expect([at, await replay(each)]).toEqual([at, sent(counts[at] ?? 0)]);
  await Promise.all(hooks.map((each, at) => came(each, 2 * (counts[at] ?? 0))));
  expect(hooks.map((each, at) => said(each, counts[at]))).toEqual(first);
  expect(typesOf(requested, 2)).toEqual(['link.requested', 'link.requested']);
  expect(await replay(callbacks)).toEqual(sent(0));

  const verified = idOf(all, 'otp.verified');
  for (const each of [requested, failed, tested, theirs, callbacks]) {
    expect(await replay(each, { eventId: verified })).toEqual(nothing);
  }
  for (const each of [all, failed]) {
    expect(await replay(each, { eventId: idOf(requested, 'link.requested') })).toEqual(nothing);
  }
  expect(await replay(all, { eventId: idOf(tested, 'otp.verified') })).toEqual(nothing);
  expect(await replay({ ...theirs, endpointId: all.endpointId })).toEqual(nothing);
});

async function startedIn(numbers: OtpNumbers, owner: AccountId, livemode: boolean): Promise<Otp> {
  const otp = await numbers.start(otpNumber(8));
  const messageId = String(otp.sends[0]?.messageId);
  const { createdAtMs: acceptedAtMs } = otp;
  const of = { messageId, accountId: owner, recipient: otpNumber(8), livemode, acceptedAtMs, category: 'otp' } as const;
  await node.publish(lifeOf(contextOf(of)));
  return otp;
}

test('more than a page of each: everything once', async () => {
  const all = await hook({ events: ['otp.verified', 'link.clicked'] });
  const count = limits.queries.replayFactsMax * 2 + 50;
  const startMs = systemClock.nowMs() - 20 * minuteMs;
  const messages = Array.from({ length: count }, (_, nth) => {
    const createdAtMs = startMs + Math.floor(nth / 100);
    return contextOf({ accountId, recipient: otpNumber(nth), acceptedAtMs: createdAtMs, category: 'otp' });
  });
  const pending = await numbersOf(accountId).start(otpNumber(1));
  for (const context of messages) {
    const { messageId, acceptedAtMs: createdAtMs, recipient: to } = context;
    const otp: Otp = {
      ...{ ...pending, id: `otp_${messageId}` as Otp['id'], createdAtMs, expiresAtMs: createdAtMs + 5 * minuteMs },
      sends: [{ messageId: messageId as MessageId, atMs: createdAtMs }],
    };
    const number = { to, otps: [], sendsMs: [], failuresMs: [], forgottenToMs: 0 };
    const versions = [otp, { ...otp, status: 'verified', endedAtMs: createdAtMs + 9_000, attempts: 1 } as const];
    for (const [at, each] of versions.entries()) {
      for (const fact of otpFactsOf({ ...number, otps: [each] }, { accountId, livemode: true }, at + 1)) {
        await node.bus.jetstream.publish(factSubjects.otp, encodeFact(fact));
      }
    }
    await node.publish(lifeOf(context).slice(0, 1));
  }
  const clicks = Array.from({ length: count }, (_, nth) => ({ atMs: startMs + 15 * minuteMs + Math.floor(nth / 150) }));
  await publishClicks(otpNumber(9), clicks);
  await came(all, 2 * count);
  await recorded(count + 1, count);
  const first = said(all);
  // More than a page is not counted.
  expect(await replay(all)).toEqual({ ok: true, events: null });
  await came(all, 4 * count);
  expect(said(all, 2 * count)).toEqual(first);
});

test('nothing of an erased number is sent again; rows of an earlier version have their ids', async () => {
  const all = await hook({ events: ['otp.verified', 'link.clicked'] });
  const numbers = numbersOf(accountId);
  for (const nth of [11, 12]) {
    const otp = await numbers.start(otpNumber(nth), { clientReference: `of ${nth}` });
    await numbers.verify(otp.id);
    await publishMessages(accountId, otpNumber(nth), otp);
    await publishClicks(otpNumber(nth), [{}]);
  }
  await came(all, 4);
  await recorded(4, 2);
  const first = said(all);
  expect(await replay(all)).toEqual(sent(4));
  await came(all, 8);
  expect(said(all, 4)).toEqual(first);

  const mark = new NumberHashes(await numberKey(node.bus)).markOf(otpNumber(11));
  const nowMs = systemClock.nowMs();
  const by = { name: 'operator', from: 'test' };
  const erasure = newErasure(nowMs, { ...mark, accountId: null, atMs: nowMs, by });
  await orderErasure(node.bus, erasure);
  await until('it is erased', async () => {
    const reply = await node.bus.connection.request(querySubjects.eraseRows, JSON.stringify({ erasure }), {
      timeout: 10_000,
    });
    return reply.json<EraseRowsReply>().result === 'done';
  });
  const [gone, kept] = [11, 12].map((nth) => all.received.find(({ json }) => json.data['to'] === otpNumber(nth))?.id);
  expect(await replay(all, { eventId: gone })).toEqual(nothing);

  // As the tables were when these rows were written.
  for (const table of ['otps', 'link_clicks']) await node.engine.command(`ALTER TABLE ${table} DROP COLUMN event_id`);
  const [added] = schemaFiles().filter(({ name }) => name === '011-event-ids.sql');
  for (const statement of added?.statements ?? []) await node.engine.command(statement);
  const before = all.received.length;
  expect(await replay(all, { eventId: kept })).toEqual(sent(1));
  await came(all, before + 1);
  expect(await replay(all)).toMatchObject({ ok: true });
  await came(all, before + 3);
  const again = said(all, before + 1);
  expect(again.every((each) => first.includes(each))).toBe(true);
  expect(typesOf(all, before + 1)).toEqual(['link.clicked', 'otp.verified']);
  expect(JSON.stringify(again)).not.toContain(otpNumber(11));
});
