// Everything that reports count, published as its roles do and recorded: messages, clicks, one-time passwords and
// decisions of the guard, of an account and from one seed.
import { expect } from 'vitest';
import type { Engine } from '../../analytics/store/engine.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { factSubjects } from '../../cluster/bus/subjects.ts';
import { encodeEvents } from '../../model/records/event-record.ts';
import { encodeFact } from '../../model/records/fact-record.ts';
import type { RunningApi } from '../api/management/support/running-api.ts';
import { seededClicks } from './seeded-clicks.ts';
import { seededLives } from './seeded-lives.ts';
import { seededDecisions, seededOtps } from './seeded-otps.ts';
import { until } from './until.ts';

/** Resolves when all of it is in the event store. */
export async function recordSeeded(
  api: Pick<RunningApi, 'bus' | 'accountId'>,
  engine: Engine,
  messages: number,
): Promise<void> {
  const publisher = new Publisher(api.bus);
  const lives = seededLives(api.accountId, messages);
  for (let from = 0; from < lives.length; from += 50) {
    const record = encodeEvents(lives.slice(from, from + 50).flat());
    expect(await publisher.publishOne('ev.sandbox.0', record, null)).toMatchObject({ ok: true });
  }
  for (const { subject, octets } of seededClicks(lives)) {
    expect(await publisher.publishOne(subject, octets, null)).toMatchObject({ ok: true });
  }
  const facts = [...seededOtps(lives), ...seededDecisions(api.accountId)];
  for (const fact of facts) {
    expect(await publisher.publishOne(factSubjects[fact.kind], encodeFact(fact), null)).toMatchObject({ ok: true });
  }
  publisher.close();
  const ofAccount = `account_id = '${api.accountId}'`;
  const recorded = `SELECT toUInt32(uniqExact(message_id)) FROM sms_events WHERE ${ofAccount}`;
  await until('everything is recorded', async () => (await engine.rows(recorded))[0]?.[0] === lives.length);
  const clicksOf = async (table: string) => (await engine.rows(`SELECT toUInt32(count()) FROM ${table}`))[0]?.[0];
  await until('every click is counted', async () => {
    const [counted] = await engine.rows("SELECT toInt32(sum(counts)) FROM click_counts WHERE what = 'clicks'");
    return Number(counted?.[0]) > 0 && counted?.[0] === (await clicksOf('link_clicks'));
  });
  const [otps, decisions] = ['otps', 'otp_guard_decisions'].map(
    (table) => `SELECT count() FROM ${table} WHERE ${ofAccount}`,
  );
  const rows = `SELECT toUInt32((${otps}) + (${decisions}))`;
  await until('every fact is recorded', async () => (await engine.rows(rows))[0]?.[0] === facts.length);
}
