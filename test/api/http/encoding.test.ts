// What the ingress reports of a text's encoding, and that the report matches the queued message.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Harness, type Ingress, type Tenant, goodBody, openHarness, post } from './harness.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  ingress = await harness.ingress();
});
afterAll(async () => harness.stop());
beforeEach(async () => {
  await harness.bus.manager.streams.purge('MT_TXN');
});

const send = (over: object, headers: Record<string, string> = {}) =>
  post(ingress, tenant.live, { ...goodBody, ...over }, headers);

describe('the answer', () => {
  test('names the character that forced UCS-2, also when it is repeated', async () => {
    const key = { 'idempotency-key': 'forced' };
    const first = await send({ message: 'Price: 5 ₹ "net"' }, key);
    expect(first.status).toBe(202);
    expect(first.body).toMatchObject({
      encoding: 'ucs2',
      ucs2_because: { character: '₹', code_point: 'U+20B9', index: 9 },
    });
    expect((await send({ message: 'Price: 5 ₹ "net"' }, key)).body).toEqual(first.body);
  });

  test('names none when nothing forced it', async () => {
    expect((await send({})).body).not.toHaveProperty('ucs2_because');
    const asked = await send({ message: '₹', encoding: 'ucs2' });
    expect(asked.body).toMatchObject({ encoding: 'ucs2' });
    expect(asked.body).not.toHaveProperty('ucs2_because');
  });
});

describe('transliterate', () => {
  test('queues the look-alikes', async () => {
    const { status, body } = await send({ message: '“Sale” – now…', transliterate: true });
    expect([status, body['encoding'], body['segments']]).toEqual([202, 'gsm7', 1]);
    expect((await harness.messages('MT_TXN'))[0]).toMatchObject({
      body: { text: '"Sale" - now...' },
      encoding: 'gsm7',
    });
  });

  test('is off by default', async () => {
    for (const over of [{}, { transliterate: false }]) {
      expect((await send({ message: '“Sale”', ...over })).body).toMatchObject({ encoding: 'ucs2' });
    }
    expect((await harness.messages('MT_TXN'))[0]).toMatchObject({ body: { text: '“Sale”' } });
  });

  test.each(['yes', 1, null])('of %j is refused', async (transliterate) => {
    const { status, body } = await send({ transliterate });
    expect(status).toBe(422);
    expect(body['errors'][0]).toMatchObject({ field: 'transliterate', code: 'invalid_field' });
  });
});
