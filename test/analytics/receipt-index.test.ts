// The table by which receipts find their submits: its key is exactly the canonical id; it is read by its order and not
// by scanning days; and an interrupted schema version fills it again.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertSettings } from '../../analytics/recorder/writer.ts';
import { submittedSearch } from '../../analytics/queries/find-submitted.ts';
import { tsvText } from '../../analytics/store/tab-separated.ts';
import { eventOfSubmit, submitColumns } from '../../analytics/store/submit-row.ts';
import { keepRowsFor } from '../../analytics/store/retention.ts';
import { applySchema, schemaFiles } from '../../analytics/store/schema.ts';
import { canonical } from '../../model/carrier-message-id.ts';
import { retentionDefault } from '../../config/retention-schema.ts';
import { systemClock } from '../../platform/clock.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';

let events: EventStore;
beforeAll(async () => {
  events = await startEventStore();
  await keepRowsFor(events.engine, retentionDefault);
});
afterAll(() => events.stop());

const columns =
  'event_id, kind, at, message_id, account_id, carrier, carrier_message_id, recipient, recorded_at, accepted_at';

async function record(ids: readonly string[]): Promise<void> {
  const seconds = Math.trunc(systemClock.nowMs() / 1_000) - 60;
  const row = (id: string, at: number) =>
    `${String(at).padStart(26, '0')}\tsubmitted\t${seconds}.${String(at % 1_000).padStart(3, '0')}\tsms_${at}\tacc\talpha\t` +
    `${tsvText(id)}\t+88017\t${seconds}.000\t${seconds}.000\n`;
  await events.engine.insert(`sms_events (${columns})`, Buffer.from(ids.map(row).join('')));
}

const search = () =>
  submittedSearch(
    events.engine,
    { eventsOf: () => [], messages: () => [] },
    { recordedTo: () => 1, surely: async (read) => ({ result: 'sure', recordedTo: 1, value: await read() }) },
  );

test('the key is the canonical id, however the carrier wrote it', async () => {
  const odd = ['0', '000', '0x', '0x0', '0x00AF', '00x5', 'ABC-1', ' 7 ', '0X10', 'x', '00000000-0000', 'é1'];
  const escaped = ['a\tb', 'a\nb', 'a\rb', 'a\0b', 'a\bb', 'a\fb', String.raw`a\tb\N\\`, `it's "1"`];
  // White space for `trim` of JavaScript, and not for `\\s` of RE2.
  const spaces = ['\u000b7', '\u20287', '7\u00a0', '\ufeff7'];
  const made = fc.sample(fc.string({ minLength: 1, maxLength: 65, unit: 'grapheme-ascii' }), 500);
  const written = [...odd, ...escaped, ...spaces, ...made].filter((id) => id.trim() !== '');
  await record(written);
  const rows = await events.engine.rows(`SELECT ${submitColumns}, submit_key FROM sms_submits`);
  const ids = rows.map((row) => eventOfSubmit(row).carrierMessageId as string);
  expect(ids.toSorted()).toEqual(written.toSorted());
  expect(rows.map((row) => row.at(-1))).toEqual(ids.map(canonical));
});

test('a submit has the callback_url of its message; one of an earlier version has none', async () => {
  const seconds = Math.trunc(systemClock.nowMs() / 1_000);
  const row = (id: string, callback: string) =>
    `${id.padStart(26, '0')}\tsubmitted\t${seconds}\tsms_${id}\tacc\talpha\t${id}\t+88018\t${seconds}\t${seconds}\t${callback}\n`;
  const url = 'https://shop.example/orders/7?x=%20y';
  const rows = Buffer.from(row('901', `whe_1 ${url}`) + row('902', ''));
  await events.engine.insert(`sms_events (${columns}, callback)`, rows);
  const find = async (id: string) => search()({ carrier: 'alpha', recipients: ['+88018'], carrierMessageIds: [id] });
  const callback = { endpointId: 'whe_1', url };
  expect(await find('901')).toMatchObject({ result: 'found', submitted: { messageId: 'sms_901', callback } });
  const [now] = await events.engine.rows(`SELECT ${submitColumns} FROM sms_submits WHERE submit_key = '902'`);
  const old = (now ?? []).with(-1, String(now?.at(-1)).slice(0, -1));
  for (const each of [now ?? [], old]) {
    const submitted = eventOfSubmit(each);
    expect(submitted).toMatchObject({ messageId: 'sms_902', carrierMessageId: '902', scheduledAtMs: null });
    expect(submitted).not.toHaveProperty('callback');
  }
});

test('a submit is found by reading a few granules, among hundreds of thousands', async () => {
  await events.engine.command(
    `INSERT INTO sms_events (${columns}) SELECT leftPad(toString(number), 26, '0'), 'submitted', now64(3) - 3600, concat('sms_', toString(number)),
       'acc', 'beta', lower(hex(number + 1000000)), concat('+88018', leftPad(toString(number), 8, '0')), now64(3) - toIntervalSecond(number), now64(3) FROM numbers(230000)`,
  );
  await events.engine.command('OPTIMIZE TABLE sms_submits FINAL');
  const id = (1_000_000 + 123_456).toString(16);
  const reply = await search()({ carrier: 'beta', recipients: ['+8801800123456'], carrierMessageIds: ['77', id] });
  expect(reply).toMatchObject({ result: 'found', submitted: { messageId: 'sms_123456', carrierMessageId: id } });
  const plan = await events.engine.rows(
    `SELECT explain FROM (EXPLAIN indexes = 1 SELECT row FROM sms_submits WHERE carrier IN ('beta') AND submit_key IN ('77', '${id}')
       AND recipient IN ('+8801800123456'))`,
  );
  const granules = plan.map(([line]) => /Granules: (\d+)\/(\d+)/.exec(line as string)).filter((each) => each !== null);
  expect(Number(granules.at(-1)?.[1])).toBeLessThanOrEqual(4);
  expect(Number(granules[0]?.[2])).toBeGreaterThan(200);
});

test('an insert that ended between the events and their submits is completed by its repeat, and nothing is doubled', async () => {
  const counts = async () => {
    const [row] = await events.engine.rows(
      `SELECT (SELECT toUInt32(count()) FROM sms_events WHERE carrier = 'gamma'), (SELECT toUInt32(count()) FROM sms_submits WHERE carrier = 'gamma')`,
    );
    return row;
  };
  const seconds = Math.trunc(systemClock.nowMs() / 1_000);
  const row = (at: number) =>
    `${String(at).padStart(26, 'g')}\tsubmitted\t${seconds}\tsms_${at}\tacc\tgamma\t${at}\t+88019\t${seconds}\t${seconds}\n`;
  const rows = Buffer.from(Array.from({ length: 1_000 }, (_, at) => row(at)).join(''));
  const insert = () => events.engine.insert(`sms_events (${columns}) SETTINGS ${insertSettings('one')}`, rows);
  await events.engine.command('DETACH TABLE sms_submits_feed');
  await insert();
  expect(await counts()).toEqual([1_000, 0]);
  await events.engine.command('ATTACH TABLE sms_submits_feed');
  for (let times = 0; times < 3; times += 1) {
    await insert();
    expect(await counts()).toEqual([1_000, 1_000]);
  }
});

test('an interrupted schema file is applied again, and each submit is there once', async () => {
  const [before] = await events.engine.rows('SELECT toUInt32(count()), toUInt32(uniqExact(row)) FROM sms_submits');
  await events.engine.command('ALTER TABLE schema_versions DELETE WHERE version >= 12 SETTINGS mutations_sync = 2');
  const newest = schemaFiles().map(({ version }) => version);
  expect(await applySchema(events.engine)).toEqual(newest.filter((version) => version >= 12));
  const [after] = await events.engine.rows('SELECT toUInt32(count()), toUInt32(uniqExact(row)) FROM sms_submits');
  expect(after).toEqual(before);
});
