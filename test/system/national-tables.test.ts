// National tables through the whole system: a Turkish text arrives unchanged, in fewer segments than UCS-2 takes, where
// the carriers have the table; as UCS-2 where one of them has not. By every entry point.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { systemClock } from '../../platform/clock.ts';
import type { CarrierName } from '../support/smsc-peers.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';

let harness: SystemHarness;

/** alpha and gamma have the Turkish table, beta has none; two routes each have two of them. */
beforeAll(async () => {
  const routes = `routes:
  - { prefix: "+8801751", carriers: [alpha, gamma], choose: weighted }
  - { prefix: "+8801752", carriers: [alpha, beta], choose: weighted }
`;
  const withTables = (text: string) =>
    text
      .replace('- name: alpha\n', '- name: alpha\n    national_tables: [turkish]\n')
      .replace('- name: gamma\n', '- name: gamma\n    national_tables: [bengali, turkish]\n');
  harness = await openSystemHarness({ configured: (text) => withTables(text) + routes });
});
afterAll(() => harness?.stop());

// 142 characters: one segment of GSM-7 with its table, three of UCS-2.
const turkish = 'Ödemeniz alındı. Doğrulama şifreniz 4711, lütfen paylaşmayın. '.repeat(3).slice(0, 142);
const inUcs2 = Math.ceil(turkish.length / 67);
const taken = (carrier: CarrierName, to: string) =>
  harness.smscPeers.carriers[carrier].messages({ destination: to.slice(1) });

const arrived = (to: string) =>
  until(`a whole message to ${to}`, () => {
    const found = (['alpha', 'beta', 'gamma'] as const).flatMap((carrier) => taken(carrier, to));
    return found.length > 0 && found.every(({ parts, partsTotal }) => parts === partsTotal) && found;
  });

describe('a Turkish text', () => {
  it('arrives unchanged, in one segment instead of three, and is delivered', async () => {
    const to = '+8801712345678';
    const reply = await harness.client.post({ to, message: turkish });
    expect(reply.json).toMatchObject({ encoding: 'gsm7', segments: 1 });
    expect(reply.json).not.toHaveProperty('ucs2_because');
    const [message] = await arrived(to);
    expect(message).toMatchObject({ text: turkish, parts: 1, wire: { dataCoding: 0, esmClass: 0x40 } });
    const id = String(reply.json['id']);
    await until('the delivery', async () => (await harness.client.get(id)).status === 'delivered');
  });

  it('arrives in segments where it is long, still fewer than of UCS-2', async () => {
    const to = '+8801812345678';
    const message = turkish.repeat(3);
    const reply = await harness.client.post({ to, message });
    expect(reply.json).toMatchObject({ encoding: 'gsm7', segments: 3 });
    expect(await arrived(to)).toMatchObject([{ text: message, parts: 3 }]);
    await until(
      'the delivery',
      async () => (await harness.client.get(String(reply.json['id']))).status === 'delivered',
    );
  });

  it('is sent as UCS-2 to a carrier without tables', async () => {
    const to = '+8801912345678';
    const reply = await harness.client.post({ to, message: turkish });
    expect(reply.json).toMatchObject({ encoding: 'ucs2', segments: inUcs2, ucs2_because: { character: 'ı' } });
    expect(await arrived(to)).toMatchObject([{ text: turkish, parts: inUcs2, wire: { dataCoding: 8 } }]);
  });

  it('uses tables on a route whose carriers all have them, and none where one has not', async () => {
    const both = Array.from({ length: 12 }, (_, at) => `+88017512345${String(at).padStart(2, '0')}`);
    const oneOnly = both.map((to) => to.replace('+8801751', '+8801752'));
    const replies = await Promise.all([...both, ...oneOnly].map((to) => harness.client.post({ to, message: turkish })));
    expect(replies.map(({ json }) => json['segments'])).toEqual([...both.map(() => 1), ...oneOnly.map(() => inUcs2)]);
    for (const to of [...both, ...oneOnly]) expect(await arrived(to)).toMatchObject([{ text: turkish }]);
    const share = (carrier: CarrierName, list: string[]) => list.filter((to) => taken(carrier, to).length > 0).length;
    expect(share('alpha', both) + share('gamma', both)).toBe(12);
    expect(share('alpha', oneOnly) + share('beta', oneOnly)).toBe(12);
  });

  it('uses them in a batch, when scheduled, and in explain', async () => {
    const from = 'HELIOGRAPH';
    const [now, later] = ['+8801712345681', '+8801712345682'];
    const send_at = new Date(systemClock.nowMs() + 2_500).toISOString();
    const batch = await harness.client.call('POST', '/v1/sms/batch', {
      messages: [
        { from, to: now, message: turkish },
        { from, to: later, message: turkish, send_at },
      ],
    });
    expect(batch.json).toMatchObject({ accepted: 2, rejected: 0 });
    for (const to of [now, later]) expect(await arrived(to)).toMatchObject([{ text: turkish, parts: 1 }]);

    const explained = await harness.client.call('POST', '/v1/sms', {
      from,
      to: now,
      message: turkish,
      dry_run: 'explain',
    });
    expect(explained.json).toMatchObject({ would_send: true, encoding: 'gsm7', segments: [{ text: turkish }] });
    const without = { from, to: '+8801912345678', message: turkish, dry_run: 'explain' };
    expect((await harness.client.call('POST', '/v1/sms', without)).json).toMatchObject({ encoding: 'ucs2' });
  });
});
