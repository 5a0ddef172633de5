// Subscribers' decisions, from the stream to the database and the entry points, on real parts: in effect at once,
// stored when the database is up, in their order, and START undoes only what a STOP had done.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { type DecisionRecord, encodeDecision } from '../../model/records/inbound-record.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { decisionSubject } from '../../cluster/bus/subjects.ts';
import { putDecision, sweepMarks } from '../../directory/decision-bucket.ts';
import { type DecisionWriter, startDecisionWriter } from '../../control/projection/decision-writer.ts';
import { Decisions, decisionEntryName } from '../../directory/decisions.ts';
import { setSenderStatus } from '../../control/store/senders.ts';
import { operator } from '../../control/store/store.ts';
import { writeDecision } from '../../control/store/subscriber-decisions.ts';
import { addSuppressions, listSuppressions } from '../../control/store/suppressions.ts';
import type { AccountId } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { type DirectoryHarness, openDirectoryHarness } from '../support/directory-harness.ts';
import { newAccount, newSender } from '../support/tenants.ts';

const patient = { everyMs: 10 };

let harness: DirectoryHarness;
let publisher: Publisher;
let accountId: AccountId;
let writer: DecisionWriter | null = null;

beforeAll(async () => {
  harness = await openDirectoryHarness();
  publisher = new Publisher(harness.bus);
  harness.project();
});
afterAll(async () => {
  publisher?.close();
  await harness?.stop();
});
beforeEach(async () => {
  accountId = await newAccount(harness.store);
  await until('the account is known', () => harness.directory.account(accountId), patient);
});
afterEach(async () => {
  await writer?.stop();
  writer = null;
});

const number = '+8801712345678';
let atMs = 1_000;
const decisionOf = (keyword: 'stop' | 'start', more: Partial<DecisionRecord> = {}): DecisionRecord => {
  atMs += 1;
  return { v: 1, keyword, accountId, number, sender: '16000', atMs, messageId: `sms_${atMs}`, ...more };
};
/** As the desk does it. */
const decide = async (decision: DecisionRecord) => {
  await putDecision(await openBucket(harness.bus, 'suppression'), decision);
  const id = `decided.${decision.messageId}.${accountId}`;
  const result = await publisher.publishOne(decisionSubject('alpha'), encodeDecision(decision), id);
  expect(result.ok).toBe(true);
};
const inEffect = (sender = '16000') =>
  harness.directory.account(accountId)?.suppressions.has(number, sender, 'otp') === true;
const listed = async () => (await listSuppressions(harness.store, accountId, { limit: 100, after: null })).items;
const waiting = async () => (await harness.bus.manager.streams.info('INBOUND')).state.messages;
const entryOf = async (sender: string | null = '16000') => {
  const entry = await (await openBucket(harness.bus, 'suppression')).get(
    decisionEntryName({ accountId, number, sender }),
  );
  return entry?.operation === 'PUT' ? entry.string() : null;
};
const write = () => {
  writer = startDecisionWriter({ bus: harness.bus, store: harness.store, publisher });
  return until('all decisions are written down', async () => (await waiting()) === 0, patient);
};

describe('a subscriber’s decision', () => {
  test('is in effect before it is stored, and stays so without a gap when it is', async () => {
    await decide(decisionOf('stop'));
    await until('it is in effect', () => inEffect());
    expect(inEffect('HELIO')).toBe(false);
    expect(await listed()).toEqual([]);
    let gaps = 0;
    let looking = true;
    const look = (async () => {
      while (looking) {
        if (!inEffect()) gaps += 1;
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    await write();
    await until('its entry is gone', async () => (await entryOf()) === null, patient);
    looking = false;
    await look;
    expect(gaps).toBe(0);
    expect(await listed()).toMatchObject([{ number, sender: '16000', category: null, reason: 'keyword' }]);
  });

  test('START removes what STOP added, and nothing the client added', async () => {
    await addSuppressions(harness.store, {
      accountId,
      numbers: [number],
      sender: 'HELIO',
      category: null,
      reason: 'manual',
    });
    await decide(decisionOf('stop'));
    await decide(decisionOf('stop', { sender: 'HELIO' }));
    await decide(decisionOf('start'));
    await decide(decisionOf('start', { sender: 'HELIO' }));
    await write();
    expect(await listed()).toMatchObject([{ sender: 'HELIO', reason: 'manual' }]);
    await until('START is in effect', () => !inEffect(), patient);
    await until('so is what the client put there', () => inEffect('HELIO'), patient);
  });

  test('made in one order and written in another ends as it was made', async () => {
    const [stop, start, stopAgain] = [decisionOf('stop'), decisionOf('start'), decisionOf('stop')];
    expect((await writeDecision(harness.store, start))?.ended).toBe('no_change');
    expect((await writeDecision(harness.store, stop))?.ended).toBe('stale');
    expect(await listed()).toEqual([]);
    expect((await writeDecision(harness.store, stopAgain))?.ended).toBe('written');
    expect((await writeDecision(harness.store, start))?.ended).toBe('stale');
    expect((await writeDecision(harness.store, stopAgain))?.ended).toBe('no_change');
    expect((await listed()).length).toBe(1);
    // At the very same moment the opt-out wins.
    const tie = { ...stopAgain, keyword: 'start' } as const;
    expect((await writeDecision(harness.store, tie))?.ended).toBe('stale');
    expect((await listed()).length).toBe(1);
  });

  test('an older decision never replaces a later one in the bucket', async () => {
    const bucket = await openBucket(harness.bus, 'suppression');
    const [stop, start] = [decisionOf('stop'), decisionOf('start')];
    await putDecision(bucket, start);
    await putDecision(bucket, stop);
    expect(JSON.parse((await entryOf()) ?? '{}')).toMatchObject({ keyword: 'start' });
    expect(inEffect()).toBe(false);
  });

  test('leaves nothing behind in the bucket once every reader has seen the deletion', async () => {
    const bucket = await openBucket(harness.bus, 'suppression');
    const held = async () => {
      const { state } = await harness.bus.manager.streams.info('KV_suppression', {
        subjects_filter: `$KV.suppression.decision.${accountId}.>`,
      });
      return Object.keys(state.subjects ?? {}).length;
    };
    await decide(decisionOf('stop'));
    await decide(decisionOf('stop', { sender: 'HELIO' }));
    await write();
    await until(
      'its entry is gone',
      async () => (await entryOf()) === null && (await entryOf('HELIO')) === null,
      patient,
    );
    // From here on no writer stores decisions and removes their entries.
    await writer?.stop();
    await putDecision(bucket, decisionOf('stop', { sender: 'HELIO' }));
    expect(await held()).toBe(2);
    expect(await sweepMarks(harness.bus, systemClock.nowMs(), 60_000)).toBe(0);
    expect(await sweepMarks(harness.bus, systemClock.nowMs() + 1_000, 0)).toBeGreaterThan(0);
    expect(await held()).toBe(1);
    expect(await entryOf('HELIO')).not.toBeNull();
    // And what was purged may be decided again.
    await decide(decisionOf('stop'));
    expect(await entryOf()).not.toBeNull();
    expect(await sweepMarks(harness.bus, systemClock.nowMs() + 1_000, 0)).toBe(0);
  });

  test('about every sender covers every sender', async () => {
    await decide(decisionOf('stop', { sender: null }));
    await until('it is in effect', () => inEffect('ANY') && inEffect());
    await write();
    await until('its entry is gone', async () => (await entryOf(null)) === null, patient);
    expect(inEffect('ANY')).toBe(true);
    expect(await listed()).toMatchObject([{ sender: null, reason: 'keyword' }]);
  });

  test('for a deleted account is dropped', async () => {
    await decide(decisionOf('stop', { accountId: 'acc_01JABCDEFGHJKMNPQRSTVWXYZ9' as AccountId }));
    await write();
  });

  test('is audited with the message that asked for it', async () => {
    const decision = decisionOf('stop');
    await writeDecision(harness.store, decision);
    const rows = await harness.store.db
      .selectFrom('audit_log')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('id')
      .execute();
    expect(rows.at(-1)).toMatchObject({
      actor: 'subscriber',
      action: 'suppression.opted_out',
      target: decision.messageId,
    });
  });

  test('goes beyond the bound of the list: a STOP is never refused', async () => {
    await harness.store.db.updateTable('accounts').set({ suppressed: 1_000_000 }).where('id', '=', accountId).execute();
    expect((await writeDecision(harness.store, decisionOf('stop')))?.ended).toBe('written');
  });
});

describe('the owner of a number', () => {
  test('is by approved senders, oldest account first, with or without a plus', async () => {
    const other = await newAccount(harness.store, 'Other');
    const first = await newSender(harness.store, accountId, '+8809612345678');
    const second = await newSender(harness.store, other, '8809612345678');
    expect(harness.directory.ownersOf('8809612345678')).toEqual([]);
    for (const id of [second, first]) await setSenderStatus(harness.store, id, 'approved', operator);
    const owners = await until(
      'both are known',
      () => {
        const all = harness.directory.ownersOf('8809612345678');
        return all.length === 2 && all;
      },
      patient,
    );
    expect(owners).toEqual([
      { accountId, sender: '+8809612345678' },
      { accountId: other, sender: '8809612345678' },
    ]);
    await setSenderStatus(harness.store, first, 'rejected', operator);
    await until('one is left', () => harness.directory.ownersOf('8809612345678').length === 1, patient);
    expect(harness.directory.ownersOf('8809612345678')[0]?.accountId).toBe(other);
  });
});

describe('decisions in memory', () => {
  const entry = (keyword: 'stop' | 'start', sender: string | null) =>
    Buffer.from(JSON.stringify({ v: 1, keyword, sender, atMs: 1 }));

  test('an unreadable entry leaves the old one', () => {
    const decisions = new Decisions();
    const name = decisionEntryName({ accountId, number, sender: '16000' });
    expect(decisions.apply(name, entry('stop', '16000'))).toBe(true);
    expect(decisions.apply(name, Buffer.from('{'))).toBe(false);
    expect(decisions.has(accountId, number, '16000')).toBe(true);
    expect(decisions.apply(name, null)).toBe(true);
    expect(decisions.has(accountId, number, '16000')).toBe(false);
  });

  test('an entry of a later version is ignored', () => {
    expect(new Decisions().apply('decision.something.else', Buffer.from('{}'))).toBe(true);
  });
});
