// The recorder of clicks in front of ClickHouse over HTTP and of chDB in a real role: every click once, with its message
// and its class, through outages, lost answers and kills.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { linkTarget } from '../../model/records/link-record.ts';
import { clicksSubject, issuedLinksSubject } from '../../cluster/bus/subjects.ts';
import type { EventContext } from '../../model/delivery-event.ts';
import { newClickId, newMessageId } from '../../model/ids.ts';
import {
  type Click,
  type IssuedLinks,
  decodeClickRecord,
  encodeClicks,
  encodeIssued,
} from '../../model/records/click-record.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { expectExactClicks } from '../support/recount-clicks.ts';
import { until } from '../support/until.ts';
import { type TestClickHouse, startClickHouse } from './support/clickhouse-server.ts';
import { type EventBus, startEventBus } from './support/event-bus.ts';
import { account, contextOf, lifeOf } from './support/events.ts';
import { type RunningRole, startRole } from './support/role.ts';

let events: EventBus;
let clickhouse: TestClickHouse;
let role: RunningRole | null = null;

beforeAll(async () => {
  [events, clickhouse] = await Promise.all([startEventBus(), startClickHouse()]);
});
/** Each test has a role and no rows of its own. */
afterEach(async () => {
  clickhouse.weather = 'fine';
  await role?.end('SIGTERM');
  role = null;
  for (const table of ['link_codes', 'link_clicks', 'click_counts', 'click_tiers', 'campaign_click_tiers'])
    await clickhouse.rows(`TRUNCATE TABLE ${table}`);
});
afterAll(async () => {
  await events.stop();
  await clickhouse.stop();
});

const start = async () => {
  role = await startRole(events.nats.url, events.dataDir, { CLICKHOUSE_URL: clickhouse.url });
};

const target = linkTarget(account, true, "https://shop.example.org/it's?a=1\\&b=2");
let nth = 0;

type Sent = {
  readonly id: string;
  readonly index: number;
  readonly context: EventContext;
  readonly issued: Uint8Array;
};

/** A message that was delivered ten seconds ago, with one link. */
async function sendMessage(more: Partial<EventContext> = {}, deliver = true): Promise<Sent> {
  const context = contextOf({ acceptedAtMs: systemClock.nowMs() - 10_000, ...more });
  const index = (nth += 1);
  const { messageId, accountId, livemode, category, sender, carrier, acceptedAtMs } = context;
  const { campaignId, variantId, templateId } = context;
  const links = [{ series: 9, index, linkId: target.linkId, url: target.url }];
  const facts = { messageId, accountId, livemode, category, sender, carrier, campaignId, variantId, templateId };
  const issued = encodeIssued({ ...facts, acceptedAtMs, dueAtMs: acceptedAtMs, links });
  await put(issuedLinksSubject, issued);
  await events.publish(lifeOf(context).slice(0, deliver ? 4 : 3));
  return { id: messageId, index, context, issued };
}

/** Without a delivery of late it is taken for one that sends none. */
async function carrierSendsReceipts(): Promise<void> {
  await sendMessage();
  const deliveries = "SELECT 1 FROM latency_counts WHERE stage = 'submitted_to_delivered' AND carrier = 'sandbox'";
  await until('a delivery is counted', async () => (await clickhouse.rows(`${deliveries} LIMIT 1`)).length > 0);
}

const human: Omit<Click, 'clickId' | 'index' | 'atMs' | 'addressHash'> = {
  series: 9,
  accountId: account,
  livemode: true,
  linkId: target.linkId,
  url: target.url,
  isHead: false,
  isPrefetch: false,
  hasLanguage: true,
  userAgent: 'Mozilla/5.0 (Linux; Android 14; CUBOT X70) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36',
  address: null,
};

function clickOn(index: number, more: Partial<Click> = {}): Click {
  const atMs = systemClock.nowMs();
  return { ...human, clickId: newClickId(atMs), index, atMs, addressHash: `address ${index}`, ...more };
}

async function put(subject: string, octets: Uint8Array): Promise<void> {
  await events.bus.jetstream.publish(subject, octets);
}

/** Ends the role, which writes what it holds, and compares the counts with the rows. */
async function exactCounts(): Promise<Awaited<ReturnType<typeof expectExactClicks>>> {
  await role?.end('SIGTERM');
  return expectExactClicks((sql) => clickhouse.rows(sql));
}

type Row = [id: string, messageId: string, clickClass: string, reasons: string[]];
const rows = () =>
  clickhouse.rows('SELECT click_id, message_id, class, reasons FROM link_clicks ORDER BY at, click_id') as Promise<
    Row[]
  >;
const recorded = (count: number) =>
  until(`${count} rows`, async () => {
    const found = await rows();
    return found.length >= count ? found : null;
  });

describe('every click is kept, with its message, a class and the reasons', () => {
  const previewer = 'facebookexternalhit/1.1 Facebot Twitterbot/1.0';
  const cases: [name: string, Partial<Click>, string, string[]][] = [
    ['a person', {}, 'human', []],
    ['HEAD', { isHead: true }, 'scanner', ['head']],
    ['a prefetch', { isPrefetch: true }, 'preview', ['prefetch']],
    ['a preview of iMessage', { userAgent: previewer, hasLanguage: false }, 'preview', ['previewer', 'no_language']],
    ['a preview of WhatsApp by HEAD', { userAgent: 'WhatsApp/2.23', isHead: true }, 'preview', ['head', 'previewer']],
    ['curl', { userAgent: 'curl/8.5.0' }, 'scanner', ['bot']],
    ['no User-Agent', { userAgent: '' }, 'unknown', ['no_user_agent']],
    [
      'neither User-Agent nor language',
      { userAgent: '', hasLanguage: false },
      'scanner',
      ['no_user_agent', 'no_language'],
    ],
  ];

  test('of each kind', async () => {
    await start();
    const { id, index } = await sendMessage({ campaignId: 'cmp_1', category: 'promotional' });
    const clicks = cases.map(([, more], at) => clickOn(index, { ...more, atMs: systemClock.nowMs() + at }));
    await put(clicksSubject, encodeClicks(clicks));
    expect(await recorded(cases.length)).toEqual(
      cases.map(([, , clickClass, reasons], at) => [clicks[at]!.clickId, id, clickClass, reasons]),
    );
    const [row] = await clickhouse.rows(
      'SELECT DISTINCT account_id, link_id, url, category, sender, carrier, campaign_id, address FROM link_clicks',
    );
    expect(row).toEqual([account, target.linkId, target.url, 'promotional', 'BRAND', 'sandbox', 'cmp_1', '']);
    expect(await exactCounts()).toEqual({ messages: 1, clicks: cases.length, human: 1 });
  });

  test('before the receipt, or sooner after it than people tap', async () => {
    await start();
    await carrierSendsReceipts();
    const nowMs = systemClock.nowMs();
    const undelivered = await sendMessage({}, false);
    const justNow = await sendMessage({ acceptedAtMs: nowMs });
    const later = await sendMessage({ acceptedAtMs: nowMs });
    const { soonAfterReceiptMs } = limits.clicks;
    await put(
      clicksSubject,
      encodeClicks([
        clickOn(undelivered.index, { atMs: nowMs }),
        // Delivered three milliseconds after it was accepted.
        clickOn(justNow.index, { atMs: nowMs + 2 }),
        clickOn(justNow.index, { atMs: nowMs + 2 + soonAfterReceiptMs }),
        clickOn(later.index, { atMs: nowMs + 3 + soonAfterReceiptMs }),
      ]),
    );
    expect((await recorded(4)).map(([, , clickClass, reasons]) => [clickClass, reasons])).toEqual([
      ['unknown', ['before_receipt']],
      ['unknown', ['before_receipt']],
      ['unknown', ['soon_after_receipt']],
      ['human', []],
    ]);
  });

  test('as a person, of a message that has no receipt to come or no events any more', async () => {
    await start();
    const silent = await sendMessage({ carrier: 'without receipts' }, false);
    await until('it is recorded', async () => {
      return (await clickhouse.rows(`SELECT 1 FROM sms_events WHERE message_id = '${silent.id}'`)).length === 2;
    });
    // Its events have expired before its link has.
    const [index, { issued }] = [(nth += 1), decodeClickRecord(silent.issued) as { issued: IssuedLinks }];
    const links = [{ series: 9, index, linkId: target.linkId, url: target.url }];
    const old = { ...issued, messageId: newMessageId(systemClock.nowMs() - 86_400_000), links };
    await put(issuedLinksSubject, encodeIssued(old));
    const [waiting] = [await sendMessage({ carrier: 'without receipts' }, false)];
    const atMs = systemClock.nowMs();
    await put(
      clicksSubject,
      encodeClicks([silent.index, index, waiting.index].map((each, at) => clickOn(each, { atMs: atMs + at }))),
    );
    expect((await recorded(3)).map(([, , clickClass, reasons]) => [clickClass, reasons])).toEqual([
      ['human', []],
      ['human', []],
      ['human', []],
    ]);
  });

  test('as a burst when one address opens the links of many messages; as many as allowed are none', async () => {
    await start();
    const { burstMessagesMax } = limits.clicks;
    const messages: { readonly index: number }[] = [];
    for (let at = 0; at <= burstMessagesMax; at += 1) messages.push(await sendMessage());
    const from = (address: string, of: typeof messages) =>
      of.map(({ index }) => clickOn(index, { addressHash: address }));
    await put(clicksSubject, encodeClicks([...from('many', messages), ...from('few', messages.slice(1))]));
    const found = await recorded(burstMessagesMax * 2 + 1);
    const classes = found.map(([, , clickClass, reasons]) => `${clickClass} ${reasons.join()}`);
    // From the message on that is more than allowed.
    expect(classes.filter((each) => each === 'unknown burst').length).toBe(1);
    expect(classes.filter((each) => each === 'human ').length).toBe(burstMessagesMax * 2);
  });

  test('as a person who opens every link of one message', async () => {
    await start();
    const { issued } = await sendMessage();
    const { issued: owner } = decodeClickRecord(issued) as { issued: IssuedLinks };
    const links = Array.from({ length: limits.clicks.burstMessagesMax + 1 }, (_, at) => {
      return { series: 9, index: 810_000 + at, linkId: target.linkId, url: target.url };
    });
    await put(issuedLinksSubject, encodeIssued({ ...owner, links }));
    await put(clicksSubject, encodeClicks(links.map(({ index }) => clickOn(index, { addressHash: 'one phone' }))));
    const found = await recorded(links.length);
    expect(found.map(([, id, clickClass, reasons]) => [id, clickClass, reasons])).toEqual(
      links.map(() => [owner.messageId, 'human', []]),
    );
  });

  test('also on a code that was never sent, without a message', async () => {
    await start();
    await put(clicksSubject, encodeClicks([clickOn(900_000)]));
    expect((await recorded(1)).map(([, id, clickClass, reasons]) => [id, clickClass, reasons])).toEqual([
      ['', 'scanner', ['not_sent']],
    ]);
    expect(await exactCounts()).toEqual({ messages: 0, clicks: 1, human: 0 });
  });
});

describe('every click is one row', () => {
  test('however often it was published', async () => {
    await start();
    const { index, issued } = await sendMessage();
    const clicks = Array.from({ length: 30 }, () => clickOn(index));
    await put(clicksSubject, encodeClicks(clicks));
    await recorded(30);
    await put(issuedLinksSubject, issued);
    await put(clicksSubject, encodeClicks(clicks.slice(10)));
    const last = clickOn(index, { atMs: systemClock.nowMs() + 1_000 });
    await put(clicksSubject, encodeClicks([...clicks.slice(0, 20), last]));
    const found = await recorded(31);
    expect(found.map(([id]) => id).toSorted()).toEqual([...clicks, last].map(({ clickId }) => clickId).toSorted());
    expect(await exactCounts()).toEqual({ messages: 1, clicks: 31, human: 1 });
    const [codes] = await clickhouse.rows('SELECT toUInt32(count()) FROM link_codes');
    expect(codes).toEqual([1]);
  });

  test('also when an earlier one comes later, and when a message got its codes twice', async () => {
    await start();
    const { index, context, issued } = await sendMessage();
    const nowMs = systemClock.nowMs();
    await put(clicksSubject, encodeClicks([clickOn(index, { atMs: nowMs })]));
    await recorded(1);
    const earlier = [clickOn(index, { atMs: nowMs - 5_000 }), clickOn(index, { atMs: nowMs - 7_000, isHead: true })];
    await put(clicksSubject, encodeClicks(earlier));
    await recorded(3);
    const { issued: again } = decodeClickRecord(issued) as { issued: IssuedLinks };
    const links = [{ series: 9, index: 800_000, linkId: target.linkId, url: target.url }];
    await put(issuedLinksSubject, encodeIssued({ ...again, links }));
    await put(clicksSubject, encodeClicks([clickOn(800_000, { atMs: nowMs + 1 })]));
    const found = await recorded(4);
    expect(new Set(found.map(([, messageId]) => messageId))).toEqual(new Set([context.messageId]));
    expect(await exactCounts()).toEqual({ messages: 1, clicks: 4, human: 1 });
  });

  test('and counts as it was written, when a receipt comes between a crash and the repeat', async () => {
    await start();
    await carrierSendsReceipts();
    const { index, context } = await sendMessage({}, false);
    await put(clicksSubject, encodeClicks([clickOn(index, { atMs: context.acceptedAtMs + 5_000 })]));
    const counted = () => clickhouse.rows("SELECT 1 FROM click_counts WHERE what = 'first_click' LIMIT 1");
    await until('the first one is counted', async () => (await counted()).length === 1);
    clickhouse.weather = 'answer-lost';
    const second = clickOn(index, { atMs: context.acceptedAtMs + 6_000 });
    await put(clicksSubject, encodeClicks([second]));
    await recorded(2);
    await role?.end('SIGKILL');
    // With this receipt both were a person's.
    await events.publish(lifeOf(context).slice(3, 4));
    clickhouse.weather = 'fine';
    await start();
    await put(clicksSubject, encodeClicks([clickOn(index, { atMs: context.acceptedAtMs + 7_000 })]));
    expect((await recorded(3)).map(([, , clickClass]) => clickClass)).toEqual(['unknown', 'unknown', 'human']);
    expect(await exactCounts()).toEqual({ messages: 2, clicks: 3, human: 1 });
  });

  test.each(['down', 'answer-lost'] as const)('when ClickHouse is %s and its recorder is killed', async (weather) => {
    await start();
    const before = await sendMessage();
    await put(clicksSubject, encodeClicks([clickOn(before.index)]));
    await recorded(1);
    const seen = clickhouse.refused + clickhouse.lost;
    clickhouse.weather = weather;
    const made = await sendMessage();
    const clicks = Array.from({ length: 100 }, (_, at) => clickOn(at % 2 === 0 ? before.index : made.index));
    for (let at = 0; at < 100; at += 10) await put(clicksSubject, encodeClicks(clicks.slice(at, at + 10)));
    await until('inserts without an answer', () => clickhouse.refused + clickhouse.lost >= seen + 3);
    await role?.end('SIGKILL');
    await put(clicksSubject, encodeClicks(clicks.slice(50)));
    clickhouse.weather = 'fine';
    await start();
    const last = clickOn(made.index, { atMs: systemClock.nowMs() + 1_000 });
    await put(clicksSubject, encodeClicks([last]));
    await until('the last one', async () => (await rows()).some(([id]) => id === last.clickId));
    const ids = (await rows()).map(([id]) => id);
    expect(ids.length).toBe(102);
    expect(new Set(ids).size).toBe(102);
    const [codes] = await clickhouse.rows('SELECT toUInt32(count()) FROM link_codes');
    expect(codes).toEqual([2]);
    expect(await exactCounts()).toEqual({ messages: 2, clicks: 102, human: 2 });
  });

  test('and a record that cannot be read goes to DEAD and holds up no other', async () => {
    await start();
    const { index } = await sendMessage();
    await put(clicksSubject, Buffer.from('no clicks'));
    await put(clicksSubject, encodeClicks([clickOn(index)]));
    await recorded(1);
    await until('it is in DEAD', async () => (await events.bus.manager.streams.info('DEAD')).state.messages === 1);
  });
});
