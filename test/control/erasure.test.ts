// `heliograph erase` on the real parts: nothing of a person is left in streams, database and event store or in their files,
// but who was suppressed stays so; all others stay. What a part lacks after a restore is erased again.
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AnalyticsNode, startAnalytics } from '../../analytics/analytics-node.ts';
import { type Engine, openEngine } from '../../analytics/store/engine.ts';
import { applySchema } from '../../analytics/store/schema.ts';
import { cancellations } from '../../cluster/bus/cancellations.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { erasureJobs, newErasure, orderErasure } from '../../cluster/bus/erasures.ts';
import { erasuresFile } from '../../cluster/bus/erasures-file.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { publishLater } from '../../cluster/bus/later.ts';
import { numberKey } from '../../cluster/bus/installation-secret.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { attemptSubject, messageSubject, parkedSubject, retrySubject } from '../../cluster/bus/subjects.ts';
import { type CommandsAudit, auditCommands } from '../../control/audit-commands.ts';
import { encodeAttempts } from '../../actors/webhook/attempts/attempt-record.ts';
import { ParkedDeletes } from '../../actors/webhook/delivery/parked-deletes.ts';
import type { DeliveryAttempt } from '../../actors/webhook/contract.ts';
import { type Eraser, startEraser } from '../../control/erasure/eraser.ts';
import { listAuditRecords } from '../../control/store/audit-log.ts';
import { openStore } from '../../control/store/store.ts';
import { writeDecision } from '../../control/store/subscriber-decisions.ts';
import { addSuppressions, listSuppressions } from '../../control/store/suppressions.ts';
import { deliveryEvent } from '../../model/delivery-event.ts';
import { type AccountId, type WebhookEndpointId, newAccountId, newWebhookAttemptId } from '../../model/ids.ts';
import { NumberHashes } from '../../model/number-hash.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { decodeEvents, encodeEvents } from '../../model/records/event-record.ts';
import { encodeMessage } from '../../model/records/message-record.ts';
import { encodeOtpNumber } from '../../model/records/otp-record.ts';
import { encodeWebhook } from '../../model/records/webhook-record.ts';
import { numberKeyOf } from '../../model/suppression.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import { recordsOf, waitingIn } from '../support/bus.ts';
import { runCli } from '../support/cli.ts';
import { type DirectoryHarness, openDirectoryHarness } from '../support/directory-harness.ts';
import { messageWith } from '../support/messages.ts';
import { newAccount } from '../support/tenants.ts';
import { until } from '../support/until.ts';

const person = '+8801999000111';
const neighbour = '+8801999000112';
const cipher = bodyCipher([secretBytes(32)]);
const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-erasure-'));
const endpoint = 'whe_01JABCDEFGHJKMNPQRSTVWXYZ0' as WebhookEndpointId;
const hourMs = 3_600_000;

let harness: DirectoryHarness;
let engine: Engine;
let node: AnalyticsNode;
let publisher: Publisher;
let numbers: NumberHashes;
let audit: CommandsAudit;
let eraser: Eraser | null = null;
let account: AccountId;

function openEraser(): void {
  eraser = startEraser({
    ...{ bus: harness.bus, store: harness.store, numbers, cipher, publisher, dataDir, clock: systemClock },
    events: new EventWriter(publisher),
    cancellations: cancellations(harness.bus, publisher),
  });
}

beforeAll(async () => {
  harness = await openDirectoryHarness();
  engine = openEngine({ clickhouseUrl: null, dataDir: join(dataDir, 'clickhouse') });
  await applySchema(engine);
  node = await startAnalytics(harness.bus, engine);
  publisher = new Publisher(harness.bus);
  numbers = new NumberHashes(await numberKey(harness.bus));
  audit = auditCommands(harness.bus, harness.store);
  account = await newAccount(harness.store);
  harness.project();
  openEraser();
});
afterAll(async () => {
  await eraser?.close();
  await audit.close();
  await node.stop(5_000);
  await engine.close();
  publisher.close();
  await harness.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const kept = ['SCHEDULED', 'HOLDS', 'WEBHOOK_LOG', 'DEAD', 'KV_otp'] as const;

async function put(subject: string, octets: Uint8Array): Promise<void> {
  const stored = await publisher.publishOne(subject, octets, null);
  expect([subject, stored.ok]).toEqual([subject, true]);
}

/** A request to an endpoint whose body has the number. */
function attemptAt(to: string): DeliveryAttempt {
  const atMs = systemClock.nowMs();
  const body = JSON.stringify({ type: 'sms.submitted', data: { to } });
  return {
    ...{ id: newWebhookAttemptId(atMs), webhookId: 'evt_1', eventIds: ['evt_1'], type: 'sms.submitted', atMs },
    ...{ url: 'https://client.example/hook', attempt: 1, error: null, detail: '', status: 200, latencyMs: 1 },
    ...{ request: { headers: {}, body, bodyChars: body.length }, response: { headers: {}, body: 'ok' } },
  };
}

/** The last record of WEBHOOK_LOG was delivered: it is deleted as the delivery process does it. */
async function delivered(): Promise<void> {
  const { state } = await harness.bus.manager.streams.info('WEBHOOK_LOG');
  const deletes = new ParkedDeletes(harness.bus, systemClock);
  await deletes.delete(state.last_seq);
  const after = await harness.bus.manager.streams.info('WEBHOOK_LOG');
  expect(after.state.messages).toBe(state.messages - 1);
}

/** One record of each kind, and a place in each list. Returns the messages' ids. */
async function fill(recipient: string) {
  const message = () => messageWith({ recipient, accountId: account });
  const waiting = [hourMs, hourMs, 30_000].map((inMs, at) => ({ inMs, message: message(), cancelable: at === 0 }));
  for (const { inMs, message: each, cancelable } of waiting) {
    const nowMs = systemClock.nowMs();
    const { messageId } = each;
    const record = {
      ...{ subject: messageSubject('transactional', 'alpha', account), payload: encodeMessage(each, cipher) },
      ...{ dueAtMs: nowMs + inMs, id: messageId, shardKey: messageId },
      ...(cancelable ? { cancelable: messageId } : {}),
    };
    await new Promise((resolve) => publishLater(publisher, record, nowMs, resolve));
  }
  const submitted = deliveryEvent(message(), { kind: 'submitted', atMs: systemClock.nowMs(), attempt: 1, segment: 1 });
  const published = {
    eventId: submitted.eventId,
    endpointId: endpoint,
    url: null,
    sequence: 1,
    tries: 0,
    dueAtMs: 0,
    group: null,
  };
  const webhook = encodeWebhook({ ...published, content: { event: submitted } });
  await put(parkedSubject(account, endpoint), webhook);
  // Beside one that waits: of an empty stream the server empties the file.
  await put(retrySubject(account, endpoint), webhook);
  await delivered();
  await put(attemptSubject(account, endpoint, true), encodeAttempts([attemptAt(recipient)], endpoint, cipher));
  await put('dead.MT_TXN', encodeMessage(message(), cipher));
  const otp = { to: recipient, otps: [], sendsMs: [], failuresMs: [], forgottenToMs: 0 };
  await put(`$KV.otp.${account}.live.${numbers.of(recipient)}`, encodeOtpNumber(otp, 'mark'));
  await put('ev.sandbox.0', encodeEvents([submitted]));
  const scope = { accountId: account, sender: null, category: null, reason: 'manual' } as const;
  await addSuppressions(harness.store, { ...scope, numbers: [recipient] });
  const stop = { accountId: account, number: recipient, sender: 'SHOP', keyword: 'stop', messageId: 'in_1' } as const;
  await writeDecision(harness.store, { ...stop, atMs: systemClock.nowMs() });
  return waiting.map(({ message: { messageId } }) => messageId);
}

const isSuppressed = (number: string, sender = 'ANY') =>
  harness.directory.account(account)?.suppressions.has(number, sender, 'transactional') ?? false;
const rowsOf = async (number: string) =>
  Number(
    (
      await engine.rows('SELECT toUInt32(count()) FROM sms_events WHERE recipient = {number:String}', { number })
    )[0]?.[0],
  );

function filesWith(folder: string, octets: string | Buffer): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true)
    .filter((file) => readFileSync(file).includes(octets));
}
/** The streams whose files hold the number. */
const streamsWith = (number: string) =>
  kept.filter((stream) => filesWith(harness.nats.dataDir, number).some((file) => file.includes(`/streams/${stream}/`)));
/** Of the tables: the log of changes is overwritten in its time. */
function tablesWith(number: string): string[] {
  const octets = Buffer.alloc(8);
  octets.writeBigInt64LE(BigInt(numberKeyOf(number)));
  return filesWith(harness.postgres.dataDir, octets).filter((file) => file.includes('/base/'));
}
const cli = (...words: string[]) =>
  runCli(words, {
    NATS_URL: harness.nats.url,
    DATABASE_URL: harness.postgres.applicationUrl,
    DATABASE_OWNER_URL: harness.postgres.ownerUrl,
    HELIOGRAPH_DATA: dataDir,
  });

test('removes a person everywhere and from the files, keeps them suppressed, and leaves all others', async () => {
  const [scheduledId, heldId] = await fill(person);
  await fill(neighbour);
  await harness.outboxEmpty();
  await until('the events are recorded', async () => (await rowsOf(person)) + (await rowsOf(neighbour)) === 2);
  await harness.postgres.restart();
  expect(streamsWith(person)).toEqual(kept);
  expect(tablesWith(person).length).toBeGreaterThan(0);

  const { code, stdout, stderr } = await cli('erase', '--number', person, '--yes', '--json');
  expect([code, stderr.split('\n').filter((line) => line.includes('rror'))]).toEqual([0, []]);
  const receipt = JSON.parse(stdout) as Record<string, unknown>;
  expect(receipt).toMatchObject({
    object: 'erasure',
    account: null,
    removed: {
      ...{ messages: 1, sms_events: 1, SCHEDULED: 1, HOLDS: 1, LATER: 0, WEBHOOK_LOG: 1, DEAD: 1 },
      ...{ WEBHOOK_ATTEMPTS: 1, KV_otp: 1, suppressions: 2, decisions: 1 },
    },
    looked_at: { SCHEDULED: 2, HOLDS: 2, LATER: 2, WEBHOOK_LOG: 2, DEAD: 2, KV_otp: 2 },
    left: { in_flight: 1 },
    webhook_file: expect.stringMatching(/^rewritten; what was delivered beside .* is gone by 20/),
    database_files: 'rewritten',
  });
  expect(stdout).not.toContain(person.slice(1));

  expect([await rowsOf(person), await rowsOf(neighbour)]).toEqual([0, 1]);
  for (const stream of [...kept, 'WEBHOOK_ATTEMPTS'])
    expect([stream, (await waitingIn(harness.bus, stream)).length]).toEqual([stream, 1]);
  const events = (await recordsOf(harness.bus, 'EVENTS')).flatMap(({ data }) => decodeEvents(data));
  const canceled = events.filter(({ kind }) => kind === 'canceled');
  expect(new Set(canceled.map(({ messageId }) => messageId))).toEqual(new Set([scheduledId, heldId]));
  for (const { recipient } of canceled) expect(recipient).not.toBe(person);

  await harness.outboxEmpty();
  await until('the entry is a hash', async () => isSuppressed(person) && isSuppressed(neighbour));
  expect([isSuppressed(person, 'SHOP'), isSuppressed('+8801999000113')]).toEqual([true, false]);
  const page = await listSuppressions(harness.store, account, { limit: 10, after: null });
  expect(page.items.map(({ number }) => number ?? 'erased').toSorted()).toEqual([
    neighbour,
    neighbour,
    'erased',
    'erased',
  ]);

  const records = await until('the audit record', async () => {
    const { items } = await listAuditRecords(harness.store, { limit: 5, after: null, action: 'number.erased' });
    return items.length > 0 ? items : null;
  });
  expect(records[0]).toMatchObject({ target: receipt['id'], detail: { account: null, removed: { suppressions: 2 } } });
  expect(JSON.stringify(records)).not.toContain(person.slice(1));

  await harness.postgres.restart();
  expect(streamsWith(person)).toEqual([]);
  expect(streamsWith(neighbour)).toEqual(kept);
  expect(tablesWith(person)).toEqual([]);
  expect(tablesWith(neighbour).length).toBeGreaterThan(0);
  expect(filesWith(join(dataDir, 'clickhouse'), person)).toEqual([]);
});

test('a START of an erased number takes its suppression away', async () => {
  const start = { accountId: account, number: person, sender: 'SHOP', keyword: 'start', messageId: 'in_2' } as const;
  const key = numbers.erasedKeyOf(person);
  const written = await writeDecision(harness.store, { ...start, atMs: systemClock.nowMs() }, key);
  expect(written?.ended).toBe('written');
  await harness.outboxEmpty();
  // The account's own entry, for every sender, stays.
  const page = await listSuppressions(harness.store, account, { limit: 10, after: null });
  expect(page.items.filter(({ number }) => number === null)).toHaveLength(1);
  await until('it is in effect', async () => isSuppressed(person));
});

test('NATS or a database that lacks an erasure carries it out again at the next start, known from the others', async () => {
  const [job] = await erasureJobs(harness.bus);
  if (job === undefined) throw new Error('no erasure');
  const again = async (what: string, lose: () => Promise<unknown>) => {
    await eraser?.close();
    await lose();
    openEraser();
    await until(`carried out again: ${what}`, async () => {
      const [now] = await erasureJobs(harness.bus);
      return now?.id === job.id && (now.receipt?.finishedAtMs ?? 0) > (job.receipt?.finishedAtMs ?? 0);
    });
  };
  const erased = async () => {
    await until('its jobs are done', async () =>
      (await erasureJobs(harness.bus)).every(({ receipt }) => receipt !== null),
    );
  };
  // A record from before it comes back with the old store.
  const old = messageWith({ recipient: person, accountId: account, acceptedAtMs: job.atMs - 1 });
  await put('dead.MT_TXN', encodeMessage(old, cipher));
  await again('NATS', () => harness.bus.manager.streams.purge('KV_erasures'));
  await erased();
  expect(await waitingIn(harness.bus, 'DEAD')).toHaveLength(1);

  // The database and NATS are both old: the file of the data folder knows it, and the event store.
  expect(readFileSync(erasuresFile(dataDir), 'utf8')).toContain(job.id);
  await put('dead.MT_TXN', encodeMessage(old, cipher));
  await again('the file', async () => {
    await harness.bus.manager.streams.purge('KV_erasures');
    const owner = openStore(harness.postgres.ownerUrl);
    await owner.db.deleteFrom('erasures').execute();
    await owner.close();
  });
  expect(await waitingIn(harness.bus, 'DEAD')).toHaveLength(1);
});

test('after five days it is carried out once more, in the event store too', async () => {
  const { lookAgainMs } = limits.erasure;
  const nowMs = systemClock.nowMs();
  const by = { name: 'operator', from: 'test' };
  const mark = numbers.markOf('+8801999000114');
  const erasure = newErasure(nowMs, { ...mark, accountId: null, atMs: nowMs - lookAgainMs - hourMs, by });
  const { id, hash, atMs } = erasure;
  const time = (ms: number) => (ms / 1_000).toFixed(3);
  const firstRun = [id, hash, '', time(atMs), JSON.stringify(erasure), '{"link_codes":0}', time(atMs + hourMs)];
  const columns = 'id, recipient_hash, account_id, at, mark, removed, carried_out_at';
  await engine.insert(`erasures (${columns})`, Buffer.from(`${firstRun.join('\t')}\n`));
  await engine.insert(
    'erased_messages (message_id, recipient_hash, accepted_at)',
    Buffer.from(`sms_late\t${hash}\t${time(atMs - 1)}\n`),
  );
  await engine.insert('link_codes (code, message_id, accepted_at)', Buffer.from(`7\tsms_late\t${time(atMs - 1)}\n`));
  await orderErasure(harness.bus, erasure);
  await until('the second run is done', async () => {
    const job = (await erasureJobs(harness.bus)).find((each) => each.id === id);
    return (job?.receipt?.finishedAtMs ?? 0) > nowMs;
  });
  expect(await engine.rows("SELECT code FROM link_codes WHERE message_id = 'sms_late'")).toEqual([]);
});

test('refuses what is no number or account, and a second erasure while one is at work', async () => {
  for (const words of [['16247'], ['8801712345678'], ['+8801712345678', '--account', 'acme']]) {
    const { code, stderr } = await cli('erase', '--yes', '--number', ...words);
    expect([words, code]).toEqual([words, 1]);
    expect(stderr).toMatch(/expected/);
  }
  const unconfirmed = await cli('erase', '--number', neighbour);
  expect([unconfirmed.code, unconfirmed.stderr]).toEqual([
    1,
    'erase removes what every account has about the number for good: confirm with --yes\n',
  ]);
  await eraser?.close();
  const accountId = newAccountId(1);
  const by = { name: 'operator', from: 'test' };
  const waiting = newErasure(systemClock.nowMs(), { ...numbers.markOf(neighbour), accountId, atMs: 1, by });
  await orderErasure(harness.bus, waiting);
  const { code, stderr } = await cli('erase', '--number', neighbour, '--yes');
  expect([code, stderr]).toEqual([1, expect.stringContaining(waiting.id)]);
  await (await openBucket(harness.bus, 'erasures')).delete(waiting.id);
  openEraser();
});
