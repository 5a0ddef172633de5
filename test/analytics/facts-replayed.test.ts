// Facts read from their tables page by page: each of the time asked for once, in the order of the key and in its highest
// version, however its versions lie in the parts of the table. A page is found by its keys before its rows are read.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { otpColumns, otpRow } from '../../analytics/otp/fact-rows.ts';
import { replayFacts } from '../../analytics/queries/replay-facts.ts';
import type { FactPlace, ReplayFacts } from '../../analytics/contract.ts';
import type { OtpFact } from '../../model/fact.ts';
import type { EventId, MessageId, OtpId } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { seededRandom } from '../../platform/random.ts';
import { patienceMs } from '../support/until.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';

const random = seededRandom(238);
const below = (bound: number) => Math.floor(random.unit() * bound);
const startedMs = Date.UTC(2026, 10, 1);
const [accountId, otherAccountId] = ['acc_1', 'acc_2'];
const passwords = 3 * limits.queries.replayFactsMax + 50;
const query = {
  ...{ accountId, livemode: true, kind: 'otp' as const, types: ['otp.verified', 'otp.failed'] as const },
  ...{ sinceMs: startedMs, untilMs: startedMs + 3_600_000 },
} as const;

let events: EventStore;
const facts = Array.from({ length: passwords }, (_, at) => versionsOf(at)).flat();

beforeAll(async () => {
  events = await startEventStore();
  // Several parts, with rows that are inserted twice and versions in any order.
  const rows = [...facts, ...facts.filter(() => random.unit() < 0.3)].map(otpRow);
  for (let part = 0; part < 4; part += 1) {
    const own = rows.filter((_, at) => at % 4 === part).toSorted(() => random.unit() - 0.5);
    await events.engine.insert(`otps (${otpColumns})`, Buffer.from(own.join('')));
  }
  const ids = new Set(
    facts.flatMap(({ accountId: of, livemode, messageIds }) => `${of}\t${livemode ? 1 : 0}\t${messageIds[0]}`),
  );
  const messages = [...ids].map((id) => `${id}\t+8801712345678\n`).join('');
  await events.engine.insert('sms_events (account_id, livemode, message_id, recipient)', Buffer.from(messages));
});
afterAll(() => events?.stop());

/** Some are of others, or have not ended; of some several versions have. Several start in the same millisecond. */
function versionsOf(at: number): readonly OtpFact[] {
  const of = random.unit() < 0.1 ? otherAccountId : accountId;
  const createdAtMs = startedMs + Math.floor(at / 3) * 1_000;
  const isTest = random.unit() < 0.1;
  const endsWith = below(4);
  return Array.from({ length: 1 + below(4) }, (_, version) => ({
    ...{ kind: 'otp', accountId: of, livemode: !isTest, to: '', clientReference: null, atMs: createdAtMs + 5_000 },
    ...{
      eventId: '' as EventId,
      id: `otp_${String((at * 7) % passwords).padStart(26, '0')}` as OtpId,
      version: version + 1,
    },
    status:
      version < endsWith ? ('pending' as const) : random.unit() < 0.5 ? ('verified' as const) : ('expired' as const),
    ...{ reason: null, purpose: 'login', language: 'en', sender: 'HELIO', ownCode: false, attempts: version },
    ...{
      messageIds: [`sms_${at}` as MessageId],
      createdAtMs,
      expiresAtMs: createdAtMs + 300_000,
      endedAtMs: createdAtMs + 5_000,
    },
  }));
}

/** What is to be sent, without the engine: by id and version. */
function expected(): readonly (readonly [OtpId, number])[] {
  const highest = new Map<OtpId, OtpFact>();
  for (const fact of facts) {
    if (fact.accountId !== accountId || !fact.livemode || fact.status === 'pending') continue;
    if ((highest.get(fact.id)?.version ?? 0) < fact.version) highest.set(fact.id, fact);
  }
  return [...highest.values()]
    .toSorted((one, other) => one.createdAtMs - other.createdAtMs || (one.id < other.id ? -1 : 1))
    .map(({ id, version }) => [id, version] as const);
}

async function pages(rows = events.engine.rows): Promise<readonly (readonly OtpFact[])[]> {
  const found: (readonly OtpFact[])[] = [];
  let after: FactPlace | null = null;
  do {
    const asked: ReplayFacts = { ...query, after };
    // With the time that a busy machine needs.
    const inTime = `max_execution_time = ${patienceMs / 1_000}`;
    const patient: typeof rows = (sql, params) => rows(sql.replace(/max_execution_time = [\d.]+/, inTime), params);
    const page = await replayFacts({ ...events.engine, rows: patient }, asked, systemClock);
    if (page.result !== 'found') throw new Error(page.result);
    found.push(page.facts as readonly OtpFact[]);
    after = page.next;
  } while (after !== null);
  return found;
}

test('each fact of the account and mode is on one page, in its highest version and in the order of the key', async () => {
  const found = await pages();
  expect(found.length).toBeGreaterThan(2);
  expect(found.flat().map(({ id, version }) => [id, version])).toEqual(expected());
});

test('rows are read of the range of a page alone: a page has no more versions than its facts', async () => {
  const read: number[] = [];
  const counting: typeof events.engine.rows = async (sql, ...more) => {
    const rows = await events.engine.rows(sql, ...more);
    if (!sql.includes('LIMIT 1 BY')) return rows;
    const [row] = await events.engine.rows(
      sql.replace(/^SELECT .*? FROM otps/s, 'SELECT count() FROM otps').replace(/ORDER BY .* SETTINGS/s, 'SETTINGS'),
      ...more,
    );
    read.push(Number(row?.[0]));
    return rows;
  };
  const found = await pages(counting);
  expect(read.length).toBe(found.filter(({ length }) => length > 0).length);
  // At most four versions of a one-time password, each inserted twice at most, and those behind the last key of the page.
  expect(Math.max(...read)).toBeLessThanOrEqual(limits.queries.replayFactsMax + 8);
});
