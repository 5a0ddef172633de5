// Events that are no delivery events, from FACTS to real receivers: which is sent to which endpoint, once each over
// restarts.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Webhook } from 'standardwebhooks';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { factSubjects } from '../../../cluster/bus/subjects.ts';
import type { ClickFact, Fact, GuardFact, OtpFact } from '../../../model/fact.ts';
import { type AccountId, type MessageId, type OtpId, eventIdOf } from '../../../model/ids.ts';
import { clickFactRecords, encodeFact } from '../../../model/records/fact-record.ts';
import { type FactEventType, webhookTypesOfFacts } from '../../../model/webhook-endpoint.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { startBus, type TestBus } from '../../support/bus.ts';
import { until } from '../../support/until.ts';
import {
  type Receiver,
  type RunningWebhooks,
  putAccount,
  putEndpoint,
  runWebhooks,
  startReceiver,
  waitingInLog,
} from '../../support/webhooks.ts';

let bus: TestBus;
let running: RunningWebhooks | null = null;
const receivers: Receiver[] = [];

beforeAll(async () => {
  bus = await startBus();
});
afterEach(async () => {
  await running?.stop();
  running = null;
  for (const receiver of receivers.splice(0)) await receiver.close();
  await bus.bus.manager.streams.purge(streamNames.webhookLog);
});
afterAll(async () => {
  await bus.stop();
});

async function receiver(): Promise<Receiver> {
  const made = await startReceiver();
  receivers.push(made);
  return made;
}

async function start(): Promise<void> {
  running = await runWebhooks(bus.bus);
  await until('it delivers', () => running?.node.state === 'delivers');
}

/** What was sent is durable as sent: the next process does not send it again. */
async function allDone(): Promise<void> {
  await until('nothing waits', async () => {
    const consumer = await bus.bus.manager.consumers.info(streamNames.facts, 'facts_webhooks');
    return consumer.num_pending + consumer.num_ack_pending + (await waitingInLog(bus.bus)) === 0;
  });
}

const put = (fact: Fact) => bus.bus.jetstream.publish(factSubjects[fact.kind], encodeFact(fact));
const typesOf = ({ received }: Receiver) => received.map(({ json }) => json.type).sort();

let nth = 0;
function base(accountId: AccountId) {
  nth += 1;
  const identity = { messageId: `thing-${nth}`, kind: 'test', attempt: 0, carrier: '', segment: 0, detail: '' };
  return { eventId: eventIdOf(identity), atMs: systemClock.nowMs(), accountId, livemode: true };
}

const otpOf = (accountId: AccountId, more: Partial<OtpFact> = {}): OtpFact => ({
  ...base(accountId),
  kind: 'otp',
  version: 10,
  id: `otp_${nth}` as OtpId,
  to: '+8801712345678',
  status: 'verified',
  reason: null,
  purpose: 'sign_in',
  language: 'en',
  ownCode: false,
  sender: 'ACME',
  clientReference: 'order-7',
  createdAtMs: Date.parse('2026-11-23T18:00:00.000Z'),
  expiresAtMs: Date.parse('2026-11-23T18:05:00.000Z'),
  endedAtMs: Date.parse('2026-11-23T18:00:09.000Z'),
  attempts: 1,
  messageIds: ['sms_1', 'sms_2'] as MessageId[],
  ...more,
});

const blockOf = (accountId: AccountId, more: Partial<GuardFact> = {}): GuardFact => ({
  ...base(accountId),
  kind: 'guard',
  what: 'block',
  rule: 'conversion',
  action: null,
  mode: 'on',
  scope: '+880171234',
  prefix: '+880171234',
  statistic: 11.8207854957,
  threshold: 11.5,
  times: 1,
  untilMs: Date.parse('2026-11-23T18:10:00.000Z'),
  released: '',
  ...more,
});

const clickOf = (accountId: AccountId, more: Partial<ClickFact> = {}): ClickFact => ({
  ...base(accountId),
  kind: 'click',
  clickId: 'clk_1',
  linkId: 'lnk_1',
  url: 'https://shop.example.org/sale',
  messageId: 'sms_1',
  class: 'human',
  reasons: [],
  category: 'promotional',
  sender: 'ACME',
  campaignId: 'cmp_1',
  variantId: null,
  templateId: null,
  ...more,
});

test('a verified one-time password, a block and a click are sent, signed', async () => {
  const accountId = await putAccount(bus.bus);
  const hook = await receiver();
  const { secret } = await putEndpoint(bus.bus, { accountId, url: hook.url });
  await start();
  const facts = [otpOf(accountId), blockOf(accountId), clickOf(accountId)];
  for (const fact of facts) await put(fact);
  await until('three events', () => hook.received.length === 3);
  for (const { body, headers } of hook.received) new Webhook(secret).verify(body, headers);
  const [verified, blocked, clicked] = facts.map(({ eventId }) => hook.received.find(({ id }) => id === eventId)?.json);
  expect(verified).toEqual({
    type: 'otp.verified',
    timestamp: new Date(facts[0]?.atMs ?? 0).toISOString(),
    data: {
      ...{ id: (facts[0] as OtpFact).id, object: 'otp', status: 'verified', to: '+8801712345678', purpose: 'sign_in' },
      ...{ language: 'en', attempts: 1, sms_id: 'sms_2', sends: 2, livemode: true, client_reference: 'order-7' },
      created_at: '2026-11-23T18:00:00.000Z',
      ended_at: new Date(facts[0]?.atMs ?? 0).toISOString(),
      sequence: expect.any(Number),
    },
  });
  expect(blocked).toMatchObject({
    type: 'otp.blocked',
    data: {
      ...{ object: 'otp_block', prefix: '+880171234', rule: 'conversion', statistic: 11.8, threshold: 11.5, times: 1 },
      ...{ shadow: false, until: '2026-11-23T18:10:00.000Z' },
    },
  });
  expect(clicked).toMatchObject({
    type: 'link.clicked',
    data: { id: 'clk_1', class: 'human', reasons: [], link_id: 'lnk_1', sms_id: 'sms_1', campaign_id: 'cmp_1' },
  });
});

test('an end that is no verification is sent with its reason, others are not sent', async () => {
  const accountId = await putAccount(bus.bus);
  const hook = await receiver();
  await putEndpoint(bus.bus, { accountId, url: hook.url });
  await start();
  const ends = [
    ['expired', 'expired'],
    ['failed', 'delivery_failed'],
    ['failed', 'locked'],
    ['max_attempts_reached', 'max_attempts_reached'],
  ] as const;
  await put(otpOf(accountId, { status: 'pending', endedAtMs: null }));
  await put(otpOf(accountId, { status: 'canceled' }));
  await put(otpOf(accountId, { status: 'failed', reason: 'not_sent', messageIds: [] }));
  await put(blockOf(accountId, { what: 'refusal', action: 'block' }));
  await put(blockOf(accountId, { what: 'release', released: 'probe' }));
  for (const [status, reason] of ends) await put(otpOf(accountId, { status, reason }));
  await put(otpOf(accountId, { clientReference: 'the last one' }));
  await until('the last one', () => hook.received.some(({ json }) => json.data['client_reference'] === 'the last one'));
  await until('all ends', () => hook.received.length === ends.length + 1);
  const failed = hook.received.filter(({ json }) => json.type === 'otp.failed');
  const said = failed.map(({ json }) => `${String(json.data['status'])} ${String(json.data['reason'])}`);
  expect(said.sort()).toEqual(ends.map(([status, reason]) => `${status} ${reason}`).sort());
});

/** A fact that is sent under each type: the compiler asks for one of a new type. */
const examples: { readonly [Type in FactEventType]: (accountId: AccountId) => Fact } = {
  'link.clicked': (accountId) => clickOf(accountId),
  'link.requested': (accountId) => clickOf(accountId, { class: 'preview', reasons: ['previewer'] }),
  'otp.verified': (accountId) => otpOf(accountId),
  'otp.failed': (accountId) => otpOf(accountId, { status: 'expired', reason: 'expired' }),
  'otp.blocked': (accountId) => blockOf(accountId),
};

test('every type of facts is sent for its fact', async () => {
  const accountId = await putAccount(bus.bus);
  const hook = await receiver();
  await putEndpoint(bus.bus, { accountId, url: hook.url, events: Object.keys(examples) });
  await start();
  for (const exampleOf of Object.values(examples)) await put(exampleOf(accountId));
  await until('one of each', () => hook.received.length === Object.keys(examples).length);
  expect(typesOf(hook)).toEqual(Object.values(webhookTypesOfFacts).flat().sort());
});

test('who asked for it gets it: by type, by mode, and clicks of programs only by name', async () => {
  const accountId = await putAccount(bus.bus);
  const [all, named, other, late] = [await receiver(), await receiver(), await receiver(), await receiver()];
  await putEndpoint(bus.bus, { accountId, url: all.url });
  await putEndpoint(bus.bus, { accountId, url: named.url, events: ['link.requested', 'otp.failed'] });
  await putEndpoint(bus.bus, { accountId, url: other.url, livemode: false });
  await putEndpoint(bus.bus, { accountId, url: late.url, createdAtMs: systemClock.nowMs() + 60_000 });
  await start();
  await put(clickOf(accountId));
  await put(clickOf(accountId, { class: 'preview', reasons: ['previewer'] }));
  await put(clickOf(accountId, { class: 'scanner', reasons: ['bot'] }));
  // Who asks for clicks of people gets one that may be a person's.
  await put(clickOf(accountId, { class: 'unknown', reasons: ['before_receipt'] }));
  await put(otpOf(accountId, { status: 'expired', reason: 'expired' }));
  await put(otpOf(accountId, { livemode: false }));
  await put(otpOf(await putAccount(bus.bus)));
  await until('all of them', () => all.received.length + named.received.length + other.received.length === 7);
  expect(typesOf(all)).toEqual(['link.clicked', 'link.clicked', 'otp.failed']);
  expect(typesOf(named)).toEqual(['link.requested', 'link.requested', 'otp.failed']);
  expect(typesOf(other)).toEqual(['otp.verified']);
  expect(late.received).toEqual([]);
});

test('clicks that share a record go each to its own account, mode and endpoints, once when published again', async () => {
  const [accountId, another] = [await putAccount(bus.bus), await putAccount(bus.bus)];
  const [hook, second, its, test] = [await receiver(), await receiver(), await receiver(), await receiver()];
  await putEndpoint(bus.bus, { accountId, url: hook.url });
  await putEndpoint(bus.bus, { accountId, url: second.url });
  await putEndpoint(bus.bus, { accountId: another, url: its.url });
  await putEndpoint(bus.bus, { accountId, url: test.url, livemode: false });
  const clicks = [
    clickOf(accountId),
    clickOf(another),
    clickOf(accountId, { livemode: false }),
    clickOf(await putAccount(bus.bus)),
    clickOf(accountId),
  ];
  const [record] = clickFactRecords(clicks);
  await start();
  for (let nth = 0; nth < 2; nth += 1) {
    // A second one after the stream has forgotten the id of the first.
    await bus.bus.jetstream.publish(factSubjects.click, record?.octets ?? '');
    await until('every endpoint has its clicks', () => hook.received.length + second.received.length === 4);
    await until('nothing waits', async () => {
      const { num_pending, num_ack_pending } = await bus.bus.manager.consumers.info(
        streamNames.facts,
        'facts_webhooks',
      );
      return num_pending + num_ack_pending === 0;
    });
  }
  const idsOf = ({ received }: Receiver) => new Set(received.map(({ id }) => id));
  const [first, of, ofTest, , last] = clicks.map(({ eventId }) => eventId);
  const both = new Set([first, last]);
  expect([hook, second, its, test].map(idsOf)).toEqual([both, both, new Set([of]), new Set([ofTest])]);
  expect([hook, second, its, test].map(({ received }) => received.length)).toEqual([2, 2, 1, 1]);
});

test('facts of an account whose endpoint hangs hold up nobody: what is more than its share goes to the line', async () => {
  const [slow, other] = [await putAccount(bus.bus), await putAccount(bus.bus)];
  const hook = await receiver();
  const hanging = await startReceiver(() => null);
  receivers.push(hanging);
  await putEndpoint(bus.bus, { accountId: slow, url: hanging.url });
  await putEndpoint(bus.bus, { accountId: other, url: hook.url });
  await start();
  const { webhooksHeldMax, webhooksHeldPerAccount } = limits.facts;
  const count = webhooksHeldMax + 100;
  await Promise.all(Array.from({ length: count }, () => put(otpOf(slow))));
  await put(otpOf(other));
  await until('the other one has its event', () => hook.received.length === 1);
  await until('all but the share are in the line', async () => {
    const { num_pending, num_ack_pending } = await bus.bus.manager.consumers.info(streamNames.facts, 'facts_webhooks');
    return num_pending === 0 && num_ack_pending <= webhooksHeldPerAccount;
  });
  expect(await waitingInLog(bus.bus)).toBeGreaterThanOrEqual(count - webhooksHeldPerAccount);
});

test('what happens while no process delivers is sent afterwards, once; what cannot be read goes to DEAD', async () => {
  const accountId = await putAccount(bus.bus);
  const hook = await receiver();
  await putEndpoint(bus.bus, { accountId, url: hook.url });
  await start();
  await put(otpOf(accountId));
  await until('the first', () => hook.received.length === 1);
  await allDone();
  await running?.stop();
  await bus.bus.jetstream.publish(factSubjects.otp, Buffer.from('{"v":99}'));
  const fact = otpOf(accountId);
  // As a publisher that was killed before it knew: the record is there twice.
  await put(fact);
  await put(fact);
  await start();
  await until('the second', () => hook.received.length === 2);
  expect(hook.received.at(-1)?.id).toBe(fact.eventId);
  await until('the unreadable one is in DEAD', async () => {
    const { state } = await bus.bus.manager.streams.info(streamNames.dead);
    return state.messages === 1;
  });
  await allDone();
  expect(hook.received).toHaveLength(2);
});
