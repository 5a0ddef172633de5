// The main path on the whole system as a process tree: the first SMS and what can be read of it, the sandbox, and two
// thousand messages of every form over three carriers, counted at the carriers, by the API and in ClickHouse.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { recordedMessages } from '../support/recorded-messages.ts';
import { nothingIsLeftOf } from '../support/processes.ts';
import { expectRecorded, garbledAt, assertClean, settledReconciliation } from '../support/reconciliation.ts';
import { SmsClient, type SmsView } from '../support/sms-client.ts';
import { sendTraffic } from '../support/traffic.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';
import { within } from '../support/running-clock.ts';

let harness: SystemHarness;
let live: SmsClient;
let test: SmsClient;

beforeAll(async () => {
  // Every message must have been `submitted`. The carriers are in this process: when a busy machine stalls it for seconds,
  // their sessions must not be given up, which would leave `unknown` what a receipt then makes `delivered`.
  harness = await openSystemHarness({
    configured: (text) => text.replaceAll('enquire_link_s: 30', 'enquire_link_s: 30\n    response_timer_s: 20'),
  });
  live = harness.client;
  test = harness.clientOf(harness.system.keys.testKey);
});
afterAll(() => harness?.stop());

/** Sooner than leftovers of the supervisor would end by themselves. */
const goneWithinMs = 3_000;

const ended = (client: SmsClient, id: string, status: string) =>
  until(`${id} ${status}`, async () => {
    const view = await client.get(id);
    return view.status === status && view;
  });

describe('the first SMS', () => {
  it('is accepted, can be read at once, reaches its carrier and is delivered, with its history and timing', async () => {
    const reply = await live.post({ to: '+8801712345678', message: 'Your code is 482913', category: 'otp' });
    expect(reply.status).toBe(202);
    expect(reply.json).toMatchObject({
      object: 'sms',
      status: 'accepted',
      to: '+8801712345678',
      category: 'otp',
      encoding: 'gsm7',
      segments: 1,
      livemode: true,
    });
    const id = String(reply.json['id']);
    const first = await live.get(id);
    expect(['accepted', 'submitted', 'delivered']).toContain(first.status);

    const view = await ended(live, id, 'delivered');
    expect(view.history.map((entry) => entry.status)).toEqual(['accepted', 'submitted', 'delivered']);
    expect(view.history.map((entry) => entry.carrier)).toEqual([null, 'alpha', 'alpha']);
    const times = view.history.map((entry) => Date.parse(entry.at));
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(view.timing_ms.accepted_to_submitted).toBeGreaterThanOrEqual(0);
    expect(view.timing_ms.submitted_to_delivered).toBe(times[2]! - times[1]!);

    const [taken] = harness.smscPeers.carriers.alpha.messages({ destination: '8801712345678' });
    expect(taken).toMatchObject({ source: 'HELIOGRAPH', text: 'Your code is 482913', parts: 1 });
  });

  it('cannot be read with a key of the other mode', async () => {
    const reply = await live.post({ to: '+8801712345679', message: 'hello' });
    const id = String(reply.json['id']);
    // 503 while its first event may be on its way.
    const read = await until('an answer', async () => {
      const answer = await test.call('GET', `/v1/sms/${id}`);
      return answer.status !== 503 && answer;
    });
    expect(read.status).toBe(404);
    // The next test counts at the carriers.
    await ended(live, id, 'delivered');
  });
});

describe('the sandbox', () => {
  it('decides by the last four digits, and no carrier gets it', async () => {
    const before = harness.smscPeers.taken();
    const ends: Record<string, string> = {
      '0000': 'delivered',
      '0001': 'undelivered',
      '0002': 'rejected',
      '0003': 'expired',
      '0006': 'delivered',
      '0007': 'delivered',
      '1234': 'delivered',
    };
    const sent = Object.entries(ends).map(async ([digits, status]): Promise<[string, SmsView]> => {
      const reply = await test.post({ to: `+880171234${digits}`, message: `sandbox ${digits}` });
      expect(reply.json).toMatchObject({ livemode: false });
      return [digits, await ended(test, String(reply.json['id']), status)];
    });
    const views = new Map(await Promise.all(sent));
    expect(views.get('0001')?.error).toBe('receipt_undelivered:27');
    expect(views.get('0002')?.error).toBe('ESME_RINVDSTADR');
    expect(views.get('0000')?.timing_ms.submitted_to_delivered).toBeLessThan(5_000);
    expect(harness.smscPeers.taken()).toBe(before);
  });

  it('leaves a message without a receipt at submitted', async () => {
    const reply = await test.post({ to: '+8801712340005', message: 'no receipt' });
    const view = await ended(test, String(reply.json['id']), 'submitted');
    expect(view.timing_ms.submitted_to_delivered).toBeNull();
  });
});

describe('an API key', () => {
  it('that is revoked on the command line is refused within a second', async () => {
    const made = JSON.parse(
      await harness.system.cli('keys', 'create', '--account', harness.system.keys.accountId, '--json'),
    ) as {
      id: string;
      key: string;
    };
    const client = new SmsClient(harness.system.httpPort, made.key);
    await until('the new key works', async () => (await client.call('GET', '/v1/sms')).status === 200);
    await harness.system.cli('keys', 'revoke', made.id);
    await until('the refusal', async () => (await client.call('GET', '/v1/sms')).status === 401, within(1_000));
    expect((await client.post({ to: '+8801712345678', message: 'no' })).json).toMatchObject({
      code: 'invalid_api_key',
    });
    client.close();
  });
});

describe('two thousand messages of every form over three carriers', () => {
  it('reach their carriers exactly once, whole, and end in one terminal state: the same by every count', {
    timeout: 180_000,
  }, async () => {
    const before = harness.smscPeers.taken();
    const promised = await sendTraffic(live, { ratePerSecond: 250, seconds: 8, seed: 1, mixed: true });
    const reconciliation = await settledReconciliation(harness, promised);
    expect(reconciliation).toEqual({ ...assertClean, statuses: { delivered: 2_000 } });

    const segments = promised.reduce((sum, each) => sum + each.segments, 0);
    expect(harness.smscPeers.taken() - before).toBe(segments);
    expect(garbledAt(harness.smscPeers, promised, () => true)).toEqual([]);

    await harness.system.recorded();
    expect(await harness.system.stop()).toBe(0);
    await nothingIsLeftOf(harness.system.dataDir, goneWithinMs);
    const recorded = await recordedMessages(harness.system.dataDir);
    const { actual, expected } = expectRecorded(recorded, promised, reconciliation);
    expect(actual).toEqual(expected);
    const histories: Record<string, number> = {};
    for (const { id } of promised) {
      const history = (recorded.messages.get(id)?.history ?? []).map(({ status }) => status).join(', ');
      histories[history] = (histories[history] ?? 0) + 1;
    }
    expect(histories).toEqual({ 'accepted, submitted, delivered': 2_000 });
  });
});
