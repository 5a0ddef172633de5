// DEAD on a real nats-server: what is kept of a record, how it is replayed, and that a repeated replay puts nothing
// back twice.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dropDead, listDead, readDead, replayDead } from '../../../cluster/bus/dead-records.ts';
import { deadHeaders, moveToDead } from '../../../cluster/bus/dead-letter.ts';
import { publishLater, readLater } from '../../../cluster/bus/later.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { replayMarkSubject } from '../../../cluster/bus/subjects.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestBus, recordsOf, startBus, waitingIn } from '../../support/bus.ts';

let harness: TestBus;
let publisher: Publisher;
beforeAll(async () => {
  harness = await startBus();
  publisher = new Publisher(harness.bus);
});
afterAll(async () => {
  publisher.close();
  await harness.stop();
});

const at = (aheadMs: number): Clock => ({ ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs });
const long = limits.bus.duplicateWindowMs;

/** Publishes a record and moves it to DEAD; resolves with its number there. */
async function deadLetter(
  stream: string,
  subject: string,
  id: string,
  headers?: Record<string, string>,
): Promise<number> {
  const published = await publisher.publishOne(subject, Buffer.from(id), id, headers);
  if (!published.ok) throw new Error(published.failure);
  return move(stream, published.seq, `why ${id}`);
}

/** Moves a record of a stream to DEAD as its consumer would. */
async function move(stream: string, seq: number, reason: string): Promise<number> {
  const stored = await harness.bus.manager.streams.getMessage(stream, { seq });
  const { subject, data, header: headers } = stored!;
  await new Promise<void>((ack, nak) => {
    moveToDead(publisher, { seq, subject, data, headers, ack, nak }, stream, reason);
  });
  await harness.bus.manager.streams.deleteMessage(stream, seq);
  return (await harness.bus.manager.streams.info('DEAD')).state.last_seq;
}
const read = async (seq: number) => (await readDead(harness.bus, seq))!;
const waiting = async (stream: string, id: string) =>
  (await waitingIn(harness.bus, stream)).filter(({ data }) => Buffer.from(data).toString() === id);
const mark = (seq: number) => recordsOf(harness.bus, 'DEAD', replayMarkSubject(seq));

test('a record is listed with its origin, reason and size, and read with its headers', async () => {
  const first = await deadLetter('MT_TXN', 'mt.txn.list.3', 'sms_1.0', { 'Heliograph-Again': '1' });
  const second = await deadLetter('MT_OTP', 'mt.otp.list.4', 'sms_2.0');
  const all = await listDead(harness.bus, null, 50);
  expect(all).toMatchObject({ total: 2, entries: [{ seq: first }, { seq: second }] });
  expect(all.entries[0]).toMatchObject({
    stream: 'MT_TXN',
    subject: 'mt.txn.list.3',
    reason: 'why sms_1.0',
    octets: 'sms_1.0'.length,
  });
  expect(Math.abs(all.entries[0]!.atMs - systemClock.nowMs())).toBeLessThan(60_000);
  expect(await listDead(harness.bus, null, 1)).toMatchObject({ total: 2, entries: [{ seq: first }] });
  expect(await listDead(harness.bus, 'MT_OTP', 50)).toMatchObject({ total: 1, entries: [{ seq: second }] });
  expect(await listDead(harness.bus, 'LATER', 50)).toEqual({ total: 0, entries: [] });
  const { headers, data } = await read(first);
  expect(Buffer.from(data).toString()).toBe('sms_1.0');
  expect(headers).toMatchObject({
    [deadHeaders.seq]: expect.stringMatching(/^\d+$/),
    'Heliograph-Was-Nats-Msg-Id': 'sms_1.0',
    'Heliograph-Was-Heliograph-Again': '1',
  });
  expect(await readDead(harness.bus, second + 1_000)).toBeNull();
});

test('a replay goes to the record’s origin, though the stream still knows its id, and leaves nothing in DEAD', async () => {
  const seq = await deadLetter('MT_TXN', 'mt.txn.back.3', 'sms_back.0', { 'Heliograph-Again': '1' });
  expect(await replayDead(harness.bus, await read(seq))).toEqual({ ok: true });
  const [back, ...more] = await waiting('MT_TXN', 'sms_back.0');
  expect(more).toEqual([]);
  expect(back!.subject).toBe('mt.txn.back.3');
  expect(back!.header('Nats-Msg-Id')).toBe(`sms_back.0.replay.${seq}`);
  expect(back!.header('Heliograph-Again')).toBe('1');
  expect(back!.header(deadHeaders.replay)).toBe(String(seq));
  expect(await readDead(harness.bus, seq)).toBeNull();
  expect(await mark(seq)).toEqual([]);
});

test('a record that returns to DEAD after a replay keeps its first id, and can be replayed again', async () => {
  const seq = await deadLetter('MT_TXN', 'mt.txn.again.3', 'sms_again.0');
  await replayDead(harness.bus, await read(seq));
  const { state } = await harness.bus.manager.streams.info('MT_TXN');
  const later = await move('MT_TXN', state.last_seq, 'still');
  expect(later).toBeGreaterThan(seq);
  await replayDead(harness.bus, await read(later));
  const [back] = await waiting('MT_TXN', 'sms_again.0');
  expect(back!.header('Nats-Msg-Id')).toBe(`sms_again.0.replay.${later}`);
});

describe('a replay that was interrupted', () => {
  test('is repeated soon: the stream drops the copy, and the record leaves DEAD', async () => {
    const seq = await deadLetter('MT_TXN', 'mt.txn.soon.3', 'sms_soon.0');
    const record = await read(seq);
    // The publish arrived, its answer did not: mark and record are still there.
    const id = `sms_soon.0.replay.${seq}`;
    await harness.bus.jetstream.publish(replayMarkSubject(seq));
    await harness.bus.jetstream.publish(record.subject, record.data, { msgID: id });
    expect(await replayDead(harness.bus, record)).toEqual({ ok: true });
    expect(await waiting('MT_TXN', 'sms_soon.0')).toHaveLength(1);
    expect(await readDead(harness.bus, seq)).toBeNull();
  });

  test('is not repeated when the stream may have forgotten it, except by an operator’s decision', async () => {
    const seq = await deadLetter('MT_TXN', 'mt.txn.unsure.3', 'sms_unsure.0');
    await harness.bus.jetstream.publish(replayMarkSubject(seq));
    const late = await replayDead(harness.bus, await read(seq), { clock: at(long) });
    expect(late).toMatchObject({ ok: false, code: 'unsure' });
    expect(await waiting('MT_TXN', 'sms_unsure.0')).toEqual([]);
    expect(await replayDead(harness.bus, await read(seq), { clock: at(long), again: true })).toEqual({ ok: true });
    expect(await waiting('MT_TXN', 'sms_unsure.0')).toHaveLength(1);
    expect(await mark(seq)).toEqual([]);
  });

  test('and was refused stays in DEAD without a mark: it may be repeated at any time', async () => {
    const seq = await deadLetter('MT_TXN', 'mt.txn.full.3', 'sms_full.0');
    const { config } = await harness.bus.manager.streams.info('MT_TXN');
    await publisher.publishOne('mt.txn.full.9', Buffer.from('fills it'), null);
    await harness.bus.manager.streams.update('MT_TXN', { ...config, max_bytes: 1 });
    const refused = await replayDead(harness.bus, await read(seq));
    expect(refused).toMatchObject({ ok: false, code: 'not_taken', detail: expect.stringContaining('maximum') });
    expect(await mark(seq)).toEqual([]);
    await harness.bus.manager.streams.update('MT_TXN', config);
    expect(await replayDead(harness.bus, await read(seq), { clock: at(long) })).toEqual({ ok: true });
  });
});

describe('a scheduled record', () => {
  const dueAgoMs = async (agoMs: number, id: string) => {
    const nowMs = systemClock.nowMs() - agoMs;
    const record = {
      subject: 'mt.txn.alpha.3',
      payload: Buffer.from(`later.${id}`),
      dueAtMs: nowMs,
      id,
      shardKey: id,
      cancelable: id,
    };
    await new Promise<void>((resolve) => publishLater(publisher, record, nowMs, () => resolve()));
    return move('SCHEDULED', (await harness.bus.manager.streams.info('SCHEDULED')).state.last_seq, id);
  };

  test('is replayed with its target and due time, and its possible canceler', async () => {
    const seq = await dueAgoMs(58 * 60_000, 'sms_due');
    expect(await replayDead(harness.bus, await read(seq))).toEqual({ ok: true });
    const { state } = await harness.bus.manager.streams.info('SCHEDULED');
    const { header } = (await harness.bus.manager.streams.getMessage('SCHEDULED', { seq: state.last_seq }))!;
    const released = readLater({ headers: header });
    expect(released).toMatchObject({ subject: 'mt.txn.alpha.3', releaseId: 'released.sms_due', cancelable: 'sms_due' });
  });

  test('is not replayed when the cancels of its second may be forgotten, or it names no target', async () => {
    const seq = await dueAgoMs(59 * 60_000 + 1_000, 'sms_over');
    expect(await replayDead(harness.bus, await read(seq))).toMatchObject({ ok: false, code: 'too_late' });
    const bare = await deadLetter('SCHEDULED', 'scheduled.1.2.3', 'bare');
    expect(await replayDead(harness.bus, await read(bare))).toMatchObject({ ok: false, code: 'nowhere' });
    expect(await read(bare)).toMatchObject({ stream: 'SCHEDULED' });
  });
});

test('a record from before headers were kept is replayed too; one without a noted subject is not', async () => {
  const put = async (headers: Record<string, string>) => {
    const done = await publisher.publishOne('dead.MT_TXN', Buffer.from('old'), null, headers);
    return done.ok ? done.seq : 0;
  };
  const old = await put({ 'Heliograph-Reason': 'old', 'Heliograph-Subject': 'mt.txn.old.3' });
  expect(await replayDead(harness.bus, await read(old))).toEqual({ ok: true });
  expect((await waiting('MT_TXN', 'old'))[0]!.header('Nats-Msg-Id')).toBe(`dead.MT_TXN.replay.${old}`);
  const nowhere = await put({ 'Heliograph-Reason': 'old' });
  expect(await replayDead(harness.bus, await read(nowhere))).toMatchObject({ ok: false, code: 'nowhere' });
});

test('a record is dropped once; a mark is no record', async () => {
  const seq = await deadLetter('EVENTS', 'ev.alpha.0', 'batch');
  expect(await dropDead(harness.bus, seq)).toBe(true);
  expect(await dropDead(harness.bus, seq)).toBe(false);
  const { seq: markSeq } = await harness.bus.jetstream.publish(replayMarkSubject(seq));
  expect(await readDead(harness.bus, markSeq)).toBeNull();
  expect(await dropDead(harness.bus, markSeq)).toBe(false);
});
