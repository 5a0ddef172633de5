// Finding one-time passwords: by their number, newest first and page by page, and by a message of theirs; and what is said
// of their end. A real ingress with two threads and a real nats-server, with an event store that answers every query.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MessageView, querySubjects } from '../../../../analytics/contract.ts';
import { otp as otpSchema } from '../../../../api/management/schemas/otp.ts';
import { type MessageId, timeOfMessageId } from '../../../../model/ids.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { call } from '../harness.ts';
import { type OtpClient, freshNumber, openOtpClient, otherThan } from './otp-client.ts';

const client: OtpClient = await openOtpClient();
const { harness, ingress, tenant, start, verify, resend, cancel, get } = client;
afterAll(() => harness.stop());

const list = (query: string, token = tenant.test) => call(ingress, 'GET', `/v1/otp${query}`, token);
const listOf = (to: string, more = '', token = tenant.test) => list(`?to=${encodeURIComponent(to)}${more}`, token);
const idsOf = (body: Record<string, any>) => body['data'].map(({ id }: { id: string }) => id);

describe('the list of a number', () => {
  test('has its one-time passwords as each is shown alone, the newest first, and no code', async () => {
    const to = freshNumber();
    const ids: string[] = [];
    for (const purpose of ['a', 'b', 'c']) ids.unshift((await start({ to, purpose })).body['id']);
    await start({ to: freshNumber() });
    const { status, body } = await listOf(to);
    expect({ status, body }).toMatchObject({ status: 200, body: { next_cursor: null } });
    expect(idsOf(body)).toEqual(ids);
    for (const each of body['data']) {
      expect(otpSchema.strict().parse(each)).toEqual(each);
      expect(each).toEqual((await get(each.id)).body);
    }
    expect(JSON.stringify(body)).not.toContain('code');
  });

  test('is read page by page', async () => {
    const to = freshNumber();
    const ids: string[] = [];
    for (const purpose of ['a', 'b', 'c', 'd', 'e']) ids.unshift((await start({ to, purpose })).body['id']);
    const pages: string[][] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await listOf(to, `&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
      pages.push(idsOf(body));
      cursor = body['next_cursor'];
    }
    expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
  });

  test('is of the account and the mode, and empty of any other number', async () => {
    const to = freshNumber();
    await start({ to });
    const other = await harness.tenant();
    for (const token of [other.test, tenant.live]) expect((await listOf(to, '', token)).body['data']).toEqual([]);
    expect((await listOf(freshNumber())).body).toEqual({ data: [], next_cursor: null });
  });

  test.each([
    ['', 'to', 'missing_field'],
    ['?to=01712345678', 'to', 'invalid_field'],
    ['?to=%2B8801712345678&limit=0', 'limit', 'invalid_field'],
    ['?to=%2B8801712345678&limit=101', 'limit', 'invalid_field'],
    ['?to=%2B8801712345678&cursor=x', 'cursor', 'invalid_field'],
    ['?to=%2B8801712345678&to=%2B8801712345678', 'to', 'invalid_field'],
    ['?to=%2B8801712345678&number=1', 'number', 'unknown_field'],
  ])('is refused with %s', async (query, field, code) => {
    const { status, body } = await list(query);
    expect({ status, body }).toMatchObject({ status: 422, body: { code, errors: [{ field, code }] } });
  });

  test('needs the scope for reading', async () => {
    const sender = await harness.tenant({ scopes: ['sms:send'] });
    expect((await listOf(freshNumber(), '', sender.test)).status).toBe(403);
  });
});

describe('the end', () => {
  const isRecent = (text: string) => Math.abs(Date.parse(text) - systemClock.nowMs()) < 60_000;

  test('of one that waits is null; of the others its time and reason are said', async () => {
    const waiting = await start();
    expect((await get(waiting.body['id'])).body).toMatchObject({ reason: null, ended_at: null });

    const right = await start();
    await verify(right.body['id'], right.body['test_code']);
    const canceled = await start();
    await cancel(canceled.body['id']);
    const guessed = await start();
    for (let guess = 0; guess < 5; guess += 1) {
      await verify(guessed.body['id'], otherThan(guessed.body['test_code']));
    }
    const ends = [right, canceled, guessed].map(async ({ body }) => (await get(body['id'])).body);
    const [verified, taken, locked] = await Promise.all(ends);
    expect([verified, taken, locked]).toMatchObject([
      { status: 'verified', reason: null },
      { status: 'canceled', reason: null },
      { status: 'max_attempts_reached', reason: 'max_attempts_reached' },
    ]);
    for (const each of [verified, taken, locked]) expect(isRecent(each?.['ended_at'])).toBe(true);
  });

  test('of one whose time is over is that time', async () => {
    const { body } = await start({ ttl_seconds: 30 });
    const later = await harness.ingress({ HELIOGRAPH_OWN_BUS: 'yes', CLOCK_SHIFT_MS: '31000' });
    const { body: expired } = await call(later, 'GET', `/v1/otp/${body['id']}`, tenant.test);
    expect(expired).toMatchObject({ status: 'expired', reason: 'expired', ended_at: body['expires_at'] });
  });
});

describe('a message', () => {
  /** What the event store says of messages of this number. */
  const about = { to: '', category: 'otp' as MessageView['category'], olderByMs: 0 };
  beforeAll(() => {
    harness.bus.connection.subscribe(querySubjects.get, {
      callback(_error, msg) {
        const { messageId: id } = msg.json<{ messageId: MessageId }>();
        const acceptedAtMs = timeOfMessageId(id) - about.olderByMs;
        const message: Omit<MessageView, 'carrier'> = {
          ...{ id, refused: false, direction: 'outbound', to: about.to, from: 'HELIO', inbound: null },
          ...{ category: about.category, encoding: 'gsm7', segments: 1, livemode: false, clientReference: null },
          ...{ status: 'accepted', history: [], acceptedAtMs, submittedAtMs: null, deliveredAtMs: null },
          ...{ error: null, scheduledAtMs: null },
        };
        msg.respond(JSON.stringify({ result: 'found', recordedTo: 1, message }));
      },
    });
  });
  const read = async (id: string) => (await call(ingress, 'GET', `/v1/sms/${id}`, tenant.test)).body;

  test('says of which one-time password it is, also one that was sent again', async () => {
    about.to = freshNumber();
    const { body } = await start({ to: about.to });
    const other = await start({ to: about.to });
    const again = await resend(body['id']);
    expect((await read(body['sms_id']))['otp_id']).toBe(body['id']);
    expect((await read(again.body['sms_id']))['otp_id']).toBe(body['id']);
    expect((await read(other.body['sms_id']))['otp_id']).toBe(other.body['id']);
  });

  test('that is of none, or of long ago, has null; of another category nothing', async () => {
    about.to = freshNumber();
    const { body } = await start({ to: about.to });
    const sent = await call(ingress, 'POST', '/v1/sms', tenant.test, {
      ...{ to: about.to, from: 'HELIO', message: 'Your code is 1234', category: 'otp' },
    });
    expect((await read(sent.body['id']))['otp_id']).toBeNull();
    about.olderByMs = 4_201_000;
    expect((await read(body['sms_id']))['otp_id']).toBeNull();
    about.olderByMs = 0;
    about.category = 'transactional';
    expect(await read(body['sms_id'])).not.toHaveProperty('otp_id');
    about.category = 'otp';
  });
});
