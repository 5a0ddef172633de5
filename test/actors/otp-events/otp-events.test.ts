// From the records of one-time passwords to FACTS: every change once, also over a restart, and the end that no request
// writes.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { OtpEvents } from '../../../actors/otp-events/otp-events.ts';
import { querySubjects } from '../../../analytics/contract.ts';
import { readEntry } from '../../../cluster/bus/bucket.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { streamNames, streamOfBucket } from '../../../cluster/bus/streams.ts';
import type { Fact, OtpFact } from '../../../model/fact.ts';
import { type AccountId, newAccountId } from '../../../model/ids.ts';
import { decodeFacts } from '../../../model/records/fact-record.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestBus, recordsOf, startBus } from '../../support/bus.ts';
import { type OtpNumbers, openOtpNumbers, otpNumber } from '../../support/otp-numbers.ts';
import { until } from '../../support/until.ts';

let server: TestBus;
let numbers: OtpNumbers;
let accountId: AccountId;
let publishing: OtpEvents | null = null;
let nth = 0;
const fresh = () => otpNumber((nth += 1));

beforeAll(async () => {
  server = await startBus();
});
afterAll(async () => {
  await server.stop();
});
afterEach(async () => {
  numbers.close();
  await publishing?.stop();
  publishing = null;
  for (const stream of [streamNames.facts, streamOfBucket('otp')]) {
    await server.bus.manager.streams.purge(stream);
  }
});

/** Of the time since the start of a process that publishes. */
let laterMs = 0;

/** An account of its own, and a process that publishes. `aheadMs`: of its clock, so that no test waits for an end. */
async function begin(aheadMs = 0): Promise<void> {
  if (publishing === null) {
    accountId = newAccountId(systemClock.nowMs());
    numbers = openOtpNumbers(server.bus, accountId);
  }
  const clock: Clock = {
    ...systemClock,
    nowMs: () => systemClock.nowMs() + aheadMs,
    monotonicMs: () => systemClock.monotonicMs() + laterMs,
  };
  publishing = await OtpEvents.start({ bus: server.bus, bucket: await openBucket(server.bus, 'otp_events'), clock });
}

const facts = async (): Promise<readonly Fact[]> =>
  (await recordsOf(server.bus, streamNames.facts)).flatMap(({ data }) => decodeFacts(data));
const otpFacts = async () => (await facts()).filter((fact): fact is OtpFact => fact.kind === 'otp');
/** When so many facts are there. */
const published = (count: number) =>
  until(`${count} facts`, async () => {
    const found = await otpFacts();
    return found.length >= count ? found : null;
  });
const shortOf = ({ status, reason, messageIds }: OtpFact) => `${status} ${reason ?? '-'} ${messageIds.length}`;
const ahead = limits.facts.graceMs + 1_000;

test('each change of a one-time password is a fact, and none has its code', async () => {
  await begin();
  const one = await numbers.start(fresh(), { clientReference: 'order-7', language: 'bn' });
  await published(1);
  await numbers.resend(one.id, one.createdAtMs + 1);
  await published(2);
  await numbers.guessWrong(one.id);
  await numbers.verify(one.id);
  const found = await published(3);
  expect(found.map(shortOf)).toEqual(['pending - 1', 'pending - 2', 'verified - 2']);
  expect(new Set(found.map(({ eventId }) => eventId)).size).toBe(3);
  expect(found.at(-1)).toMatchObject({
    ...{ id: one.id, accountId, livemode: true, purpose: 'default', language: 'bn', attempts: 2 },
    ...{ clientReference: 'order-7', ownCode: false, sender: 'HELIO', endedAtMs: expect.any(Number) },
  });
  expect(found.every(({ version }, at) => at === 0 || version > (found[at - 1] as OtpFact).version)).toBe(true);
  expect(JSON.stringify(found)).not.toMatch(/sealed|493817|verifiedBy/);
});

test('every way to end has its reason', async () => {
  await begin();
  const start = () => numbers.start(fresh());
  const [canceled, unsent, tried, verified] = [await start(), await start(), await start(), await start()];
  await numbers.cancel(canceled.id);
  await numbers.withdraw(unsent);
  for (let at = 0; at < 5; at += 1) await numbers.guessWrong(tried.id, tried.createdAtMs + at);
  await numbers.verify(verified.id);
  const ends = await until('four ends', async () => {
    const found = (await otpFacts()).filter(({ status }) => status !== 'pending');
    return found.length === 4 ? found : null;
  });
  const endOf = ({ id }: { id: string }) => shortOf(ends.find((each) => each.id === id) as OtpFact);
  expect([canceled, unsent, tried, verified].map(endOf)).toEqual([
    'canceled - 1',
    'failed not_sent 0',
    'max_attempts_reached max_attempts_reached 1',
    'verified - 1',
  ]);
});

test('the twentieth failure of a number fails what waits there', async () => {
  await begin();
  const failuresAt = systemClock.nowMs();
  let last = await numbers.start(fresh());
  const to = (await numbers.read(last.id))?.to ?? '';
  const other = await numbers.start(to, { purpose: 'payment' });
  for (let at = 1; at <= 20; at += 1) {
    await numbers.guessWrong(last.id, failuresAt + at);
    if (at % 5 === 0 && at < 20) last = await numbers.start(to);
  }
  await until('it is published', async () =>
    (await otpFacts()).some(({ id, reason }) => id === other.id && reason === 'locked'),
  );
});

test('the end of its time is published once, whatever restarts', async () => {
  await begin(ahead);
  const soon = { expiresAtMs: systemClock.nowMs() + 60_000 };
  await numbers.start(fresh(), { ...soon, createdAtMs: systemClock.nowMs() - 240_000 });
  const [waits] = await published(1);
  const expired = await numbers.start(fresh(), {
    createdAtMs: systemClock.nowMs() - 300_500,
    expiresAtMs: systemClock.nowMs() - 500,
  });
  const end = await until('the end', async () => (await otpFacts()).find(({ status }) => status === 'expired'));
  expect(end).toMatchObject({ id: expired.id, reason: 'expired', endedAtMs: expired.expiresAtMs });
  for (let at = 0; at < 3; at += 1) {
    await publishing?.stop();
    await begin(ahead);
    await numbers.verify((await numbers.start(fresh())).id);
    await until(
      'the new one is published',
      async () => (await otpFacts()).filter(({ status }) => status === 'verified').length === at + 1,
    );
  }
  await publishing?.stop();
  // Its time comes while no process publishes.
  await begin(ahead + 120_000);
  await until('the other end', async () =>
    (await otpFacts()).some(({ id, status }) => id === (waits as OtpFact).id && status === 'expired'),
  );
  const ids = (await otpFacts()).map(({ eventId }) => eventId);
  expect(new Set(ids).size).toBe(ids.length);
  expect((await otpFacts()).filter(({ status }) => status === 'expired')).toHaveLength(2);
});

test('an end is not published again when its number is used within the hour, whatever was forgotten and restarted', async () => {
  await begin();
  await publishing?.stop();
  const agoMs = systemClock.nowMs() - 20 * 60_000;
  const times = { createdAtMs: agoMs, expiresAtMs: agoMs + 300_000 };
  const [entered, late, latest] = [fresh(), fresh(), fresh()];
  const { id: verified } = await numbers.start(entered, times);
  await numbers.verify(verified, agoMs + 10_000);
  const { id: expired } = await numbers.start(late, times);
  const expiresAtMs = systemClock.nowMs() - 60_000;
  const { id: justExpired } = await numbers.start(latest, { createdAtMs: expiresAtMs - 300_000, expiresAtMs });
  await begin();
  const found = async () => {
    const ids: readonly string[] = [verified, expired, justExpired];
    return (await otpFacts()).filter(({ id }) => ids.includes(id)).map((fact) => shortOf(fact));
  };
  const before = await until('their ends', async () => {
    const facts = await found();
    return facts.filter((fact) => !fact.startsWith('pending')).length === 3 ? facts : null;
  });
  const bucket = await openBucket(server.bus, 'otp_events');
  /** Starts one and waits until its fact, and how far the process came with it, are stored. */
  const start = async (to: string, purpose = 'default') => {
    const { id } = await numbers.start(to, { purpose });
    const fact = await until('its fact', async () => (await otpFacts()).find((each) => each.id === id));
    await until('its place', async () => {
      const { entry } = await readEntry(bucket, 'place');
      return entry?.json<{ otp: { seq: number } }>().otp.seq === fact.version / 2;
    });
  };
  await start(latest);
  for (let round = 0; round < 3; round += 1) {
    laterMs += limits.facts.publishedMs;
    await start(fresh());
  }
  await start(entered);
  await start(late);
  expect(await found()).toEqual(before);
  await publishing?.stop();
  await begin();
  await start(entered, 'payment');
  await start(late, 'payment');
  expect(await found()).toEqual(before);
});

test('one that has ended by its time stays so when its number is used soon after a restart', async () => {
  await begin();
  const to = fresh();
  const expiresAtMs = systemClock.nowMs() + 1_000;
  const { id } = await numbers.start(to, { createdAtMs: expiresAtMs - 300_000, expiresAtMs });
  await published(1);
  await publishing?.stop();
  await begin(ahead + 1_000);
  const statuses = async () => (await otpFacts()).filter((fact) => fact.id === id).map(({ status }) => status);
  await until('its end', async () => (await statuses()).includes('expired'));
  const { id: next } = await numbers.start(to, { purpose: 'payment' });
  await until('the next one', async () => (await otpFacts()).some((fact) => fact.id === next));
  const latest = (await otpFacts())
    .filter((fact) => fact.id === id)
    .toSorted((one, other) => other.version - one.version);
  expect(latest[0]?.status).toBe('expired');
});

test('a process that is killed before it stored how far it came: the next one publishes the same under the same ids', async () => {
  await begin();
  const bucket = await openBucket(server.bus, 'otp_events');
  const stored = await bucket.get('place');
  const ended = await numbers.start(fresh());
  await numbers.verify(ended.id);
  const waits = await numbers.start(fresh(), {
    createdAtMs: systemClock.nowMs() - 299_000,
    expiresAtMs: systemClock.nowMs() + 1_000,
  });
  await until('both are published', async () => {
    const found = await otpFacts();
    return found.some(({ status }) => status === 'verified') && found.some(({ id }) => id === waits.id);
  });
  const before = (await otpFacts()).map(({ eventId }) => eventId);
  await publishing?.stop();
  // As if it had ended before its last writes of the place.
  if (stored === null) await bucket.delete('place');
  else await bucket.put('place', stored.value);
  await begin(ahead + 1_000);
  await until('the end of the other', async () =>
    (await otpFacts()).some(({ id, status }) => id === waits.id && status === 'expired'),
  );
  // The stream has the ids of those that were published before.
  const after = (await otpFacts()).map(({ eventId }) => eventId);
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after).toHaveLength(before.length + 1);
});

test('one whose messages did not arrive has failed; one that may have arrived has expired', async () => {
  const statuses = new Map<string, string>();
  const store = server.bus.connection.subscribe(querySubjects.get, {
    callback(_error, msg) {
      const { messageId } = msg.json<{ messageId: string }>();
      const status = statuses.get(messageId);
      const found = { result: 'found', recordedTo: 1, message: { status } };
      msg.respond(JSON.stringify(status === undefined ? { result: 'none', recordedTo: 1 } : found));
    },
  });
  await begin();
  const times = { createdAtMs: systemClock.nowMs() - 299_000, expiresAtMs: systemClock.nowMs() + 1_000 };
  const cases: [first: string, second: string | null, end: string][] = [
    ['undelivered', null, 'failed delivery_failed 1'],
    ['rejected', 'expired', 'failed delivery_failed 2'],
    ['undelivered', 'delivered', 'expired expired 2'],
    ['undelivered', 'submitted', 'expired expired 2'],
    ['unknown', null, 'expired expired 1'],
  ];
  const made = [];
  for (const [first, second] of cases) {
    const otp = await numbers.start(fresh(), times);
    statuses.set(otp.sends[0]?.messageId ?? '', first);
    if (second !== null) statuses.set(await numbers.resend(otp.id, times.createdAtMs + 1), second);
    made.push(otp.id);
  }
  await published(cases.length);
  await publishing?.stop();
  await begin(ahead + 1_000);
  const ends = await until('all ends', async () => {
    const found = (await otpFacts()).filter(({ status }) => status !== 'pending');
    return found.length === cases.length ? found : null;
  });
  const endOf = (id: string) => shortOf(ends.find((each) => each.id === id) as OtpFact);
  expect(made.map(endOf)).toEqual(cases.map(([, , end]) => end));
  store.unsubscribe();
});

test('one whose fifth guess was counted and not compared has ended by its guesses, not by its time', async () => {
  await begin(ahead);
  const times = { createdAtMs: systemClock.nowMs() - 300_000, expiresAtMs: systemClock.nowMs() };
  const { id } = await numbers.start(fresh(), times);
  for (let at = 0; at < 4; at += 1) await numbers.guessWrong(id, times.createdAtMs + at);
  await numbers.countGuess(id, times.expiresAtMs - 1);
  const end = await until('its end', async () => (await otpFacts()).find(({ status }) => status !== 'pending'));
  expect(end).toMatchObject({ id, status: 'max_attempts_reached', reason: 'max_attempts_reached', attempts: 5 });
  const ended = await numbers.start(fresh());
  for (let at = 0; at < 5; at += 1) await numbers.guessWrong(ended.id, ended.createdAtMs + at);
  const stored = await until('a stored one', async () =>
    (await otpFacts()).find((fact) => fact.id === ended.id && fact.status !== 'pending'),
  );
  expect(shortOf(end)).toBe(shortOf(stored));
});
