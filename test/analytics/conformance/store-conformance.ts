// What the event store must do alike on both engines: schema, inserts under a token with everything that is fed from them, the
// recorder's counts, every report and export in every format, and the queries about messages. The whole analytics node runs
// over the engine, with a real nats-server.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AnalyticsNode, startAnalytics } from '../../../analytics/analytics-node.ts';
import { type RunReport, querySubjects, queryTimeoutMs } from '../../../analytics/contract.ts';
import { MessageRows } from '../../../analytics/recorder/counts/count-rows.ts';
import { insertSettings } from '../../../analytics/recorder/writer.ts';
import { reports } from '../../../analytics/reports/catalogue.ts';
import { reportFormats } from '../../../analytics/reports/report.ts';
import { publicTables } from '../../../analytics/sql/public-tables.ts';
import type { Engine } from '../../../analytics/store/engine.ts';
import { EventColumns } from '../../../analytics/store/event-columns.ts';
import { lowPriority, priority } from '../../../platform/query-priority.ts';
import { keepRowsFor } from '../../../analytics/store/retention.ts';
import { applySchema, schemaFiles } from '../../../analytics/store/schema.ts';
import { exportFile } from '../../../api/management/export-file.ts';
import { askReport, fetched } from '../../../api/management/routes/reports.ts';
import { problem } from '../../../api/problem.ts';
import { factSubjects } from '../../../cluster/bus/subjects.ts';
import { type DeliveryEvent, deliveryEvent } from '../../../model/delivery-event.ts';
import type { Fact } from '../../../model/fact.ts';
import { type MessageId, type OtpId, eventIdOf, newAccountId, newMessageId } from '../../../model/ids.ts';
import { encodeFact } from '../../../model/records/fact-record.ts';
import { retentionDefault } from '../../../config/retention-schema.ts';
import { NumberHashes } from '../../../model/number-hash.ts';
import { systemClock } from '../../../platform/clock.ts';
import { expectExactCounts } from '../../support/recount.ts';
import { patient } from '../../support/report-rows.ts';
import { until } from '../../support/until.ts';
import { type EventBus, startEventBus } from '../support/event-bus.ts';
import { account, contextOf, lifeOf } from '../support/events.ts';

const hashes = new NumberHashes(Buffer.alloc(32, 1));
const halfHourMs = 1_800_000;
const delivered = 30;
const lost = 7;

export function storeConformance(open: () => Promise<{ engine: Engine; close(): Promise<void> }>): void {
  const acceptedAtMs = Math.floor(systemClock.nowMs() / halfHourMs) * halfHourMs - halfHourMs;
  const contexts = Array.from({ length: delivered + lost }, (_, n) =>
    contextOf({ acceptedAtMs: acceptedAtMs + n, messageId: newMessageId(acceptedAtMs + n) }),
  );
  const [first] = contexts as [ReturnType<typeof contextOf>];
  const range = { accountId: account, livemode: true, fromMs: acceptedAtMs, toMs: acceptedAtMs + halfHourMs };
  let events: EventBus;
  let engine: Engine;
  let close: () => Promise<void>;
  let node: AnalyticsNode;
  let applied: readonly number[];

  beforeAll(async () => {
    events = await startEventBus();
    ({ engine, close } = await open());
    applied = await applySchema(engine);
    await keepRowsFor(engine, retentionDefault);
    node = await startAnalytics(events.bus, engine);
    const lives = contexts.map((context, n) => {
      const life = lifeOf({ ...context, carrier: 'alpha' });
      if (n < delivered) return life;
      const at = context.acceptedAtMs + 9;
      const ended = { kind: 'undelivered', atMs: at, attempt: 1, segment: 1, error: 'absent' } as const;
      return [...life.slice(0, 3), deliveryEvent({ ...context, carrier: 'alpha' }, ended)];
    });
    await events.publish(lives.flat());
    // The recorder inserts the counts before the events.
    const ended = "SELECT toInt32(countIf(kind IN ('delivered', 'undelivered'))) FROM sms_events";
    await until('everything is recorded', async () => (await engine.rows(ended))[0]?.[0] === contexts.length);
  });
  afterAll(async () => {
    await node?.stop(5_000);
    await close?.();
    await events?.stop();
  });

  test('look-ups have a priority, and reports a lower one', async () => {
    const priorityOf = "SELECT toInt32(getSetting('priority')) AS priority";
    expect(await engine.rows(priorityOf)).toEqual([[priority]]);
    const answer = await engine.octets(`${priorityOf} SETTINGS ${lowPriority}`, 'JSONEachRow', {}, 10_000, 'account');
    const { priority: ofReport } = JSON.parse(answer.toString()) as { readonly priority: number };
    // A larger number is served later.
    expect(ofReport).toBeGreaterThan(priority);
  });

  test('the schema is applied once, and its columns have the documented types', async () => {
    expect(applied).toEqual(schemaFiles().map(({ version }) => version));
    expect(await applySchema(engine)).toEqual([]);
    for (const { name, columns } of publicTables) {
      const rows = await engine.rows(
        'SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = {name:String}',
        { name },
      );
      expect(rows).toEqual(expect.arrayContaining(columns.map((column) => [column.name, column.type])));
    }
  });

  test('rows that are inserted again under their token are there once, and so is what is fed from them', async () => {
    const other = contextOf({ accountId: newAccountId(acceptedAtMs), acceptedAtMs, carrier: 'alpha' });
    const columns = new EventColumns();
    for (const [n, event] of lifeOf(other)
      .filter(({ kind }) => kind !== 'intent')
      .entries()) {
      columns.add(event, { streamEpoch: 1, streamSeq: 1_000_000 }, n, acceptedAtMs, hashes.hashOf(event.recipient));
    }
    const block = columns.block();
    const counted = new MessageRows();
    const state = { status: 'delivered', carrier: 'alpha', error: '' };
    counted.add({ of: lifeOf(other).at(-1) as DeliveryEvent, slotS: acceptedAtMs / 1_000 }, state, [1, 1, 0]);
    for (const rows of [block, counted.block()]) {
      const into = `${rows === block ? 'sms_events' : 'message_counts'} (${rows?.columns.join(', ') ?? ''})`;
      for (let times = 0; times < 3; times += 1) {
        await engine.insertBlock(into, insertSettings('again'), rows?.octets ?? Buffer.alloc(0));
      }
    }
    const { accountId } = other;
    const count = async (sql: string) =>
      (await engine.rows(`SELECT toInt32(${sql} WHERE account_id = {accountId:String}`, { accountId }))[0]?.[0];
    expect(await count('count()) FROM sms_events')).toBe(3);
    const submits = 'SELECT toInt32(count()) FROM sms_submits WHERE message_id = {messageId:String}';
    expect(await engine.rows(submits, { messageId: other.messageId })).toEqual([[1]]);
    expect(await count('sum(messages)) FROM message_counts')).toBe(1);
    expect(await count("sumIf(messages, tier = 'outcomes')) FROM message_tiers")).toBe(1);
    await engine.command(`DELETE FROM message_counts WHERE account_id = '${accountId}'`);
    await engine.command(`DELETE FROM message_tiers WHERE account_id = '${accountId}'`);
    await engine.command(`DELETE FROM sms_events WHERE account_id = '${accountId}'`);
    expect(await count('count()) FROM sms_events')).toBe(0);
  });

  test('the counts are exact in both of their tables', async () => {
    expect(await expectExactCounts((sql) => engine.rows(sql))).toEqual({ delivered, undelivered: lost });
  });

  async function octetsOf(query: RunReport): Promise<Buffer> {
    const refusals = {
      away: problem(503, 'report_unavailable', '', 2),
      tooLarge: problem(422, 'report_too_large', ''),
    };
    const ask = (asked: RunReport) => askReport(events.bus, asked, refusals);
    const answer = await until('the report', async () => {
      const made = await ask(query);
      if (!('problem' in made)) return made;
      // A busy machine is late; what is wrong stays wrong.
      if (made.problem.retryAfterS === null) throw new Error(made.problem.detail);
      return null;
    });
    const parts: Uint8Array[] = [];
    const octets = 'table' in query ? exportFile(events.bus, query, answer, ask) : fetched(events.bus, answer);
    for await (const part of octets) parts.push(part);
    return Buffer.concat(parts);
  }
  const isFile = { json: /^\[/, csv: /^"/, parquet: /^PAR1.*PAR1$/s } as const;

  describe.each(reports.map((report) => [report.name, report] as const))('report %s', (name, report) => {
    test.each(reportFormats)('as %s, by every dimension', async (format) => {
      for (const groupBy of [[], ...report.groupBy.map((each) => [each])]) {
        const octets = await octetsOf({
          ...range,
          report: name,
          timeZone: 'Asia/Kolkata',
          groupBy,
          filters: report.filters.includes('carrier') ? { carrier: 'alpha' } : {},
          format,
        });
        expect(octets.toString('latin1')).toMatch(isFile[format]);
      }
    });
  });

  test('the report of deliveries says what was sent', async () => {
    const rows = JSON.parse(
      String(
        await octetsOf({
          ...range,
          report: 'delivery',
          timeZone: 'UTC',
          groupBy: ['carrier'],
          filters: {},
          format: 'json',
        }),
      ),
    );
    expect(rows).toMatchObject([
      { carrier: 'alpha', messages: delivered + lost, delivered, undelivered: lost, delivered_share: 0.8108 },
    ]);
  });

  test('a report over more one-time passwords than it can read in its time says so, and how many', async () => {
    const accountId = newAccountId(acceptedAtMs);
    const count = 3_000_000;
    // Nothing of tomorrow is summarized.
    const time = { fromMs: acceptedAtMs + 86_400_000, toMs: acceptedAtMs + 86_400_000 + halfHourMs };
    await engine.command(`INSERT INTO otps (account_id, livemode, started_at, otp_id, version, status, message_ids)
      SELECT '${accountId}', true, fromUnixTimestamp64Milli(toInt64(${time.fromMs}), 'UTC'), leftPad(toString(number), 26, '0'), 1, 'verified',
        [leftPad(toString(number), 26, '0')] FROM numbers(${count})`);
    const asked = {
      ...range,
      ...time,
      accountId,
      report: 'otp',
      timeZone: 'UTC',
      groupBy: [],
      filters: {},
      format: 'json',
    } as const;
    await expect(octetsOf(asked)).rejects.toThrow(
      `${count} one-time passwords in the time asked for: ask for a shorter one`,
    );
    await engine.command(`DELETE FROM otps WHERE account_id = '${accountId}'`);
  });

  test('one-time passwords of a time that is over are summarized, and a late receipt of one is in the report at once', async () => {
    const accountId = newAccountId(acceptedAtMs);
    const createdAtMs = acceptedAtMs - 3 * 3_600_000;
    const context = contextOf({ accountId, category: 'otp', carrier: 'alpha', acceptedAtMs: createdAtMs });
    const identity = { messageId: context.messageId, kind: 'otp', attempt: 0, carrier: '', segment: 0, detail: '' };
    const fact: Fact = {
      ...{
        kind: 'otp',
        eventId: eventIdOf(identity),
        atMs: createdAtMs,
        accountId,
        livemode: true,
        version: 2,
        attempts: 1,
      },
      ...{
        id: `otp_${context.messageId}` as OtpId,
        to: context.recipient,
        status: 'verified',
        reason: null,
        language: 'en',
      },
      ...{ purpose: 'default', sender: context.sender, ownCode: false, clientReference: null, createdAtMs },
      ...{
        expiresAtMs: createdAtMs + 300_000,
        endedAtMs: createdAtMs + 5_000,
        messageIds: [context.messageId as MessageId],
      },
    };
    const life = lifeOf(context);
    await events.publish(life.slice(0, 3));
    await events.bus.jetstream.publish(factSubjects.otp, encodeFact(fact));
    const summarySql =
      'SELECT groups.otps, groups.delivered, toUInt32(late_changes) FROM otp_summaries FINAL ' +
      'WHERE account_id = {accountId:String} AND NOT by_prefix AND notEmpty(groups.otps)';
    const summary = async () => (await patient(engine).rows(summarySql, { accountId }))[0] ?? null;
    const asked: RunReport = {
      ...{
        accountId,
        livemode: true,
        report: 'otp',
        timeZone: 'UTC',
        groupBy: ['carrier'],
        filters: {},
        format: 'json',
      },
      ...{ fromMs: acceptedAtMs - 12 * 3_600_000, toMs: acceptedAtMs + halfHourMs },
    };
    const said = async () => JSON.parse(String(await octetsOf(asked)));
    const first = await until('it is summarized', summary, { limitMs: 60_000 });
    expect(first.slice(0, 2)).toEqual([[1], [false]]);
    await until('its message is in the report', async () => (await said())[0].submitted === 1);
    expect(await said()).toMatchObject([{ carrier: 'alpha', started: 1, delivered: 0, verified: 1 }]);
    await events.publish(life.slice(3));
    await until('the receipt is in the report', async () => (await said())[0].delivered === 1);
    const again = async () => {
      const now = await summary();
      return now?.[1]?.toString() === 'true' ? now : null;
    };
    const second = await until('it is summarized again', again, { limitMs: 60_000 });
    expect(Number(second[2])).toBeGreaterThan(Number(first[2]));
    expect(await said()).toMatchObject([{ carrier: 'alpha', started: 1, submitted: 1, delivered: 1, verified: 1 }]);
    await events.bus.jetstream.publish(factSubjects.otp, encodeFact({ ...fact, version: 3, status: 'canceled' }));
    await until('and so is a late fact', async () => (await said())[0].canceled === 1);
  }, 180_000);

  describe.each(publicTables.map(({ name }) => name))('export of %s', (table) => {
    test.each(reportFormats)('as %s', async (format) => {
      expect((await octetsOf({ ...range, table, format })).toString('latin1')).toMatch(isFile[format]);
    });
  });

  test('an export has the account’s own rows of its time, and no others', async () => {
    const asked = { ...range, table: 'sms_events', format: 'json' } as const;
    const rows = JSON.parse(String(await octetsOf(asked))) as {
      readonly message_id: string;
      readonly accepted_at: string;
    }[];
    expect(new Set(rows.map((row) => row.message_id))).toEqual(new Set(contexts.map(({ messageId }) => messageId)));
    expect(rows[0]?.accepted_at).toBe(new Date(acceptedAtMs).toISOString());
    for (const nothing of [{ accountId: newAccountId(1) }, { livemode: false }, { fromMs: acceptedAtMs + 60_000 }]) {
      expect(String(await octetsOf({ ...asked, ...nothing })).trim()).toBe('[\n\n]');
    }
  });

  test('messages are found by id, in a list, by the id of their carrier, by their sender', async () => {
    const ask = async (subject: string, query: object) =>
      (await events.bus.connection.request(subject, JSON.stringify(query), { timeout: queryTimeoutMs })).json();
    const { messageId, recipient, sender } = first;
    const { accountId } = range;
    expect(await ask(querySubjects.get, { accountId, messageId, withHops: true })).toMatchObject({
      result: 'found',
      message: { id: messageId, status: 'delivered', carrier: 'alpha' },
    });
    expect(await ask(querySubjects.list, { accountId, status: 'undelivered', to: recipient })).toMatchObject({
      result: 'found',
      messages: { length: lost },
    });
    expect(
      await ask(querySubjects.findSubmitted, { carrier: 'alpha', recipients: [recipient], carrierMessageIds: ['c1'] }),
    ).toMatchObject({
      result: 'found',
      submitted: { carrierMessageId: 'c1' },
    });
    expect(
      await ask(querySubjects.findWriter, {
        subscriber: recipient,
        senders: [sender],
        livemode: true,
        sinceMs: acceptedAtMs - 1,
      }),
    ).toMatchObject({
      result: 'found',
      writer: { accountId, sender },
    });
    const again = {
      accountId,
      livemode: true,
      afterMessageId: '',
      sinceMs: acceptedAtMs,
      untilMs: acceptedAtMs + halfHourMs,
    };
    expect(await ask(querySubjects.replayEvents, again)).toMatchObject({ result: 'found' });
  });
}
