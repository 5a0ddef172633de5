// A batch whose refusals are far larger than one record of the bus, under an Idempotency-Key: it is answered, its
// repeat gets the same, and the process and all other clients continue.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { limits } from '../../../platform/limits.ts';
import { type Harness, type Ingress, type Tenant, call, goodBody, openHarness, post } from './harness.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;
beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  ingress = await harness.ingress();
});
afterAll(async () => harness.stop());

const hostile = (foreign: (at: number) => string) =>
  JSON.stringify({
    messages: Array.from({ length: 1_000 }, (_, at) =>
      Object.fromEntries([...'abcdefghij'].map((k) => [k + foreign(at), 1])),
    ),
  });

test.each([
  ['the same ten unknown fields a thousand times', hostile(() => '')],
  ['ten other unknown fields each time', hostile((at) => String(at))],
])('62 KB and more of %s under a key: answered, repeated alike, no process dies', async (_, body) => {
  expect(body.length).toBeLessThan(limits.http.bodyBytesMax);
  const headers = { 'idempotency-key': `hostile ${body.length}` };
  const first = await call(ingress, 'POST', '/v1/sms/batch', tenant.live, body, headers);
  expect([first.status, first.body['rejected']]).toEqual([202, 1_000]);
  const results = first.body['results'] as { error: { code: string } }[];
  expect(new Set(results.map(({ error }) => error.code))).toEqual(new Set(['unknown_field']));
  const again = await call(ingress, 'POST', '/v1/sms/batch', tenant.live, body, headers);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(again.body).toEqual(first.body);
  // The stored answer is an octet string in a record of the bucket, bounded whatever was refused.
  const { state } = await harness.bus.manager.streams.info('KV_idempotency');
  expect(state.bytes).toBeLessThan(2 * 2 * (limits.http.batch.keptAnswerBytesMax + 4_096));
  expect(ingress.child.exitCode).toBe(null);
  expect((await post(ingress, tenant.live, goodBody)).status).toBe(202);
});
