// What messages of campaigns add up to, over HTTP and on the command line: messages and clicks that are recorded as their roles
// publish them, in several batches, with what each report must say counted by hand.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AnalyticsNode, startAnalytics } from '../../../analytics/analytics-node.ts';
import { type Engine, openEngine, slowRows } from '../../../analytics/store/engine.ts';
import { applySchema } from '../../../analytics/store/schema.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { clicksSubject, issuedLinksSubject } from '../../../cluster/bus/subjects.ts';
import { type DeliveryEvent, type EventContext, acceptedEvent, deliveryEvent } from '../../../model/delivery-event.ts';
import { type AccountId, newClickId } from '../../../model/ids.ts';
import { type Click, encodeClicks, encodeIssued } from '../../../model/records/click-record.ts';
import { encodeEvents } from '../../../model/records/event-record.ts';
import { linkTarget } from '../../../model/records/link-record.ts';
import { contextOf } from '../../analytics/support/events.ts';
import { runCliHere } from '../../support/cli-here.ts';
import { keptForYears } from '../../support/kept-for-years.ts';
import { expectExactClicks } from '../../support/recount-clicks.ts';
import { expectExactCounts } from '../../support/recount.ts';
import { until } from '../../support/until.ts';
import { type RunningApi, callStore, runApi } from './support/running-api.ts';

const dir = mkdtempSync(join(tmpdir(), 'heliograph-campaigns-'));
const range = 'from=2026-10-22&to=2026-10-25';
const url = 'https://example.org/';
const browser = 'Mozilla/5.0 (Linux; Android 14; CUBOT X70) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36';
const days = 86_400_000;
const clickCount = 7;

let api: RunningApi;
let engine: Engine;
let node: AnalyticsNode;
let publisher: Publisher;
let otherAccount: AccountId;
let otherKey: string;
let links = 0;
let eventsExpected = 0;

beforeAll(async () => {
  api = await runApi();
  otherAccount = await api.newAccount();
  otherKey = await api.newKey(otherAccount, true);
  engine = openEngine({ clickhouseUrl: null, dataDir: join(dir, 'clickhouse') });
  await applySchema(engine);
  node = await startAnalytics(api.bus, engine, { retention: keptForYears });
  publisher = new Publisher(api.bus);
  await record();
});
afterAll(async () => {
  publisher?.close();
  await node?.stop(2_000);
  await engine?.close();
  await api?.stop();
  rmSync(dir, { recursive: true, force: true });
});

type Message = { readonly context: EventContext; readonly link: Omit<Click, 'clickId' | 'atMs' | keyof typeof person> };

/** At ten in the morning of UTC, half past three in India. */
function messageOf(changes: Partial<EventContext>): Message {
  const context = contextOf({
    ...{ accountId: api.accountId, acceptedAtMs: Date.UTC(2026, 9, 22, 10), carrier: 'alpha', sender: 'SHOP' },
    ...{ category: 'promotional', campaignId: 'cmp_eid', variantId: 'var_a' },
    ...changes,
  });
  const { linkId } = linkTarget(context.accountId as AccountId, context.livemode, url);
  links += 1;
  const { accountId, livemode } = context;
  return { context, link: { series: 3, index: links, linkId, url, accountId, livemode } };
}

/** So many seconds after its acceptance, of this segment or, with 0, of the message. */
const eventOf = (
  { context }: Message,
  kind: DeliveryEvent['kind'],
  afterS: number,
  error: string | null = null,
  segment = 1,
) =>
  deliveryEvent(context, { kind, atMs: context.acceptedAtMs + afterS * 1_000 + segment, segment, attempt: 1, error });
const submitted = (message: Message) =>
  Array.from({ length: message.context.segments }, (_, at) => eventOf(message, 'submitted', 1, null, at + 1));
const delivered = (message: Message, afterS = 9) =>
  Array.from({ length: message.context.segments }, (_, at) => eventOf(message, 'delivered', afterS, null, at + 1));
const atBeta = (message: Message): Message => ({
  ...message,
  context: { ...message.context, carrier: 'beta', hop: 1 },
});

/** In a batch of its own: resolves when it is recorded. */
async function publish(events: readonly DeliveryEvent[]): Promise<void> {
  expect(await publisher.publishOne('ev.sandbox.0', encodeEvents(events), null)).toMatchObject({ ok: true });
  eventsExpected += events.length;
  const recorded = async () => (await engine.rows('SELECT toUInt32(count()) FROM sms_events'))[0]?.[0];
  await until('they are recorded', async () => (await recorded()) === eventsExpected);
}

async function issue(messages: readonly Message[]): Promise<void> {
  for (const { context, link } of messages) {
    const { messageId, accountId, livemode, category, sender, carrier, campaignId, variantId, templateId } = context;
    const { acceptedAtMs } = context;
    const facts = { messageId, accountId, livemode, category, sender, carrier, campaignId, variantId, templateId };
    const { series, index, linkId } = link;
    const issued = encodeIssued({
      ...facts,
      acceptedAtMs,
      dueAtMs: acceptedAtMs,
      links: [{ series, index, linkId, url }],
    });
    expect(await publisher.publishOne(issuedLinksSubject, issued, null)).toMatchObject({ ok: true });
  }
}

const person = {
  isHead: false,
  isPrefetch: false,
  hasLanguage: true,
  userAgent: browser,
  address: null,
  addressHash: '',
};

function clickOn({ context, link }: Message, afterMs: number, changes: Partial<Click> = {}): Click {
  const atMs = context.acceptedAtMs + afterMs;
  return { ...link, ...person, clickId: newClickId(atMs), atMs, addressHash: String(link.index), ...changes };
}

async function record(): Promise<void> {
  const before = messageOf({ acceptedAtMs: Date.UTC(2026, 9, 22, 18, 20) });
  const after = messageOf({ acceptedAtMs: Date.UTC(2026, 9, 22, 18, 40), segments: 2 });
  const lost = messageOf({});
  const waiting = messageOf({ variantId: 'var_b' });
  const blocked = messageOf({ variantId: 'var_b', sender: 'BRAND' });
  const moved = messageOf({ campaignId: 'cmp_flash', variantId: null });
  const plain = messageOf({ campaignId: null, variantId: null });
  const ofTest = messageOf({ livemode: false });
  const ofOther = messageOf({ accountId: otherAccount });
  const all = [before, after, lost, waiting, blocked, moved, plain, ofTest, ofOther];
  await publish(all.map(({ context }) => acceptedEvent(context)));
  await issue([before, after, lost, moved, plain, ofOther]);
  await publish([
    ...[before, after, lost, plain, ofTest, ofOther].flatMap(submitted),
    eventOf(blocked, 'blocked', 1, 'recipient_opted_out', 0),
    eventOf(moved, 'rerouted', 1, 'beta: carrier_down', 0),
    ...submitted(atBeta(moved)),
    ...[before, plain, ofTest, ofOther].flatMap((message) => delivered(message)),
    eventOf(lost, 'undelivered', 5, 'receipt_undelivered:042'),
    eventOf(after, 'unknown', 7_200, 'no_receipt', 0),
  ]);
  await publish(delivered(atBeta(moved)));
  const clicks = [
    ...[clickOn(before, 60_000), clickOn(before, 120_000), clickOn(lost, 1_000, { userAgent: 'curl/8.5.0' })],
    ...[clickOn(moved, 2 * days), clickOn(plain, 60_000), clickOn(ofOther, 60_000), clickOn(ofOther, 90_000)],
  ];
  for (const click of clicks) {
    expect(await publisher.publishOne(clicksSubject, encodeClicks([click]), null)).toMatchObject({ ok: true });
  }
  await until('every click is counted', async () => {
    const [sum] = await engine.rows("SELECT toInt32(sum(counts)) FROM click_counts WHERE what = 'clicks'");
    return sum?.[0] === clickCount;
  });
  // Days after its last attempt.
  await publish(delivered(after, 200_000));
}

type Row = Readonly<Record<string, unknown>>;
const ask = async (path: string, key = api.live): Promise<readonly Row[]> => {
  const { status, body } = await callStore(api, 'GET', `/v1/reports/${path}${path.includes('?') ? '&' : '?'}${range}`, {
    key,
  });
  expect([status, body.detail]).toEqual([200, undefined]);
  return body.data;
};

const nothing = {
  ...{
    messages: 0,
    scheduled: 0,
    accepted: 0,
    submitted: 0,
    delivered: 0,
    undelivered: 0,
    expired: 0,
    rejected: 0,
    unknown: 0,
  },
  ...{ failed: 0, blocked: 0, canceled: 0, delivered_share: null, segments_submitted: 0 },
  ...{ messages_with_links: 0, clicks_human: 0, clicked: 0, clicked_share: null },
};
const flash = {
  ...{ ...nothing, campaign: 'cmp_flash', messages: 1, delivered: 1, delivered_share: 1, segments_submitted: 1 },
  ...{ messages_with_links: 1, clicks_human: 1, clicked: 1, clicked_share: 1 },
};
const variantA = {
  ...{ ...nothing, messages: 3, delivered: 2, undelivered: 1, delivered_share: 0.6667, segments_submitted: 4 },
  ...{ campaign: 'cmp_eid', messages_with_links: 3, clicks_human: 2, clicked: 1, clicked_share: 0.3333 },
};
const variantB = { ...nothing, campaign: 'cmp_eid', messages: 2, accepted: 1, blocked: 1, delivered_share: 0 };
const eid = { ...variantA, messages: 5, accepted: 1, blocked: 1, delivered_share: 0.4 };

test('what is recorded is counted exactly, in every tier', async () => {
  await expectExactCounts((sql) => slowRows(engine, sql));
  expect(await expectExactClicks((sql) => slowRows(engine, sql))).toMatchObject({ messages: 6, clicks: clickCount });
});

describe('the report of campaigns', () => {
  test('has messages by their present status and clicks of each campaign, and nothing without one', async () => {
    expect(await ask('campaigns')).toEqual([eid, flash]);
  });

  test('is of one account, live or test', async () => {
    const ofOther = { ...flash, campaign: 'cmp_eid', clicks_human: 2 };
    expect(await ask('campaigns', otherKey)).toEqual([ofOther]);
    const ofTest = {
      ...nothing,
      campaign: 'cmp_eid',
      messages: 1,
      delivered: 1,
      delivered_share: 1,
      segments_submitted: 1,
    };
    expect(await ask('campaigns', api.testKey)).toEqual([ofTest]);
    expect(await ask('campaigns', api.other)).toEqual([]);
  });

  test('by variant, by sender, and of one of them', async () => {
    const [a, b, none] = [{ variant: 'var_a' }, { variant: 'var_b' }, { variant: '' }];
    expect(await ask('campaigns?group_by=variant')).toEqual([
      { ...none, ...flash },
      { ...a, ...variantA },
      { ...b, ...variantB },
    ]);
    expect(await ask('campaigns?variant=var_a')).toEqual([variantA]);
    expect(await ask('campaigns?campaign=cmp_eid&variant=var_b')).toEqual([variantB]);
    expect(await ask('campaigns?campaign=cmp_flash&group_by=sender')).toEqual([{ sender: 'SHOP', ...flash }]);
    expect(await ask('campaigns?campaign=cmp_flash&sender=BRAND')).toEqual([]);
    const blocked = { ...nothing, campaign: 'cmp_eid', messages: 1, blocked: 1, delivered_share: 0 };
    expect(await ask('campaigns?sender=BRAND')).toEqual([blocked]);
  });

  test('by days of a time zone', async () => {
    const messages = async (zone: string) =>
      (await ask(`campaigns?campaign=cmp_eid&group_by=day&time_zone=${zone}`)).map(({ day, messages: n, clicked }) => [
        day,
        n,
        clicked,
      ]);
    expect(await messages('UTC')).toEqual([['2026-10-22', 5, 1]]);
    expect(await messages('Asia/Kolkata')).toEqual([
      ['2026-10-22', 4, 1],
      ['2026-10-23', 1, 0],
    ]);
    const hours = await ask('campaigns?campaign=cmp_eid&group_by=hour,variant&time_zone=Asia/Kolkata');
    expect(hours.map(({ hour, variant, messages: n }) => [hour, variant, n])).toEqual([
      ['2026-10-22T15:00:00+05:30', 'var_a', 1],
      ['2026-10-22T15:00:00+05:30', 'var_b', 2],
      ['2026-10-22T23:00:00+05:30', 'var_a', 1],
      ['2026-10-23T00:00:00+05:30', 'var_a', 1],
    ]);
  });

  test('has a row where clicks are left without messages, and none where nothing is left', async () => {
    const rows = await ask('campaigns?campaign=cmp_flash&group_by=carrier');
    // It waited for a carrier when it was recorded first: nothing is left of that.
    const [first] = await engine.rows(
      "SELECT toInt32(sum(messages)), toInt32(count()) > 1 FROM message_counts WHERE campaign_id = 'cmp_flash' AND carrier = ''",
    );
    expect(first?.[0]).toBe(0);
    const { messages_with_links: linked, clicks_human: clicks, clicked, clicked_share: share, ...sent } = flash;
    expect(rows).toEqual([
      {
        ...nothing,
        carrier: 'alpha',
        campaign: 'cmp_flash',
        messages_with_links: linked,
        clicks_human: clicks,
        clicked,
        clicked_share: share,
      },
      { ...nothing, carrier: 'beta', ...sent },
    ]);
  });

  test('judges clicks by the classes that are chosen', async () => {
    expect(await ask('campaigns?classes=scanner')).toEqual([eid, { ...flash, clicked: 0, clicked_share: 0 }]);
    expect(await ask('campaigns?classes=human,scanner&campaign=cmp_eid')).toEqual([
      { ...eid, clicked: 2, clicked_share: 0.6667 },
    ]);
  });

  test('on the command line', async () => {
    const run = (...words: string[]) =>
      until('the event store answers in time', async () => {
        const at = ['--from', '2026-10-22', '--to', '2026-10-25', '--account', api.accountId];
        const result = await runCliHere(['report', 'campaigns', ...words, ...at], { NATS_URL: api.nats.url });
        return !result.stderr.startsWith('report_unavailable: ') && result;
      });
    const { stdout } = await run('--group-by', 'variant', '--campaign', 'cmp_eid');
    expect(stdout).toMatch(/^What campaigns brought {2}acc_/);
    expect(stdout).toMatch(
      /^variant +campaign +messages +accepted +delivered +undelivered +blocked .* clicked_share$/m,
    );
    expect(stdout).toMatch(/^var_a +cmp_eid +3 .* 0\.3333$/m);
    expect(stdout).toMatch(/^var_b +cmp_eid +2 .* -$/m);
    expect((await run('--format', 'csv')).stdout.split('\n')[0]).toMatch(/^"campaign","messages","scheduled"/);
  });
});

describe('other reports by campaign or variant', () => {
  test('are of messages with a campaign', async () => {
    const messages = async (path: string, by: string) =>
      (await ask(`${path}group_by=${by}`)).map((row) => [row[by], row['messages']]);
    const byCampaign = [
      ['cmp_eid', 5],
      ['cmp_flash', 1],
    ];
    expect((await ask('delivery'))[0]?.['messages']).toBe(7);
    for (const report of ['delivery', 'throughput']) {
      expect(await messages(`${report}?`, 'campaign')).toEqual(byCampaign);
      const variants = await ask(`${report}?group_by=campaign,variant`);
      expect(variants.map(({ campaign, variant, messages: n }) => [campaign, variant, n])).toEqual([
        ['cmp_eid', 'var_a', 3],
        ['cmp_eid', 'var_b', 2],
        ['cmp_flash', '', 1],
      ]);
      expect((await ask(`${report}?campaign=cmp_eid&variant=var_b`))[0]?.['messages']).toBe(2);
      expect(await messages(`${report}?variant=var_b&`, 'campaign')).toEqual([['cmp_eid', 2]]);
    }
    expect(await messages('segments?campaign=cmp_eid&', 'variant')).toEqual([
      ['var_a', 2],
      ['var_a', 1],
      ['var_b', 2],
    ]);
    expect(await messages('errors?', 'campaign')).toEqual([
      ['cmp_eid', 1],
      ['cmp_eid', 1],
    ]);
    expect(await messages('clicks?', 'campaign')).toEqual([
      ['cmp_eid', 3],
      ['cmp_flash', 1],
    ]);
    expect(await ask('click-reasons?campaign=cmp_eid&group_by=variant')).toEqual([
      { variant: 'var_a', class: 'human', reasons: '', clicks: 2 },
      { variant: 'var_a', class: 'scanner', reasons: 'bot,before_receipt', clicks: 1 },
    ]);
  });
});
