// A dry run answers queries about numbers, registries and carriers: for which keys, how often, and what it does not
// reveal. Over HTTP on a real ingress.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { limits } from '../../../platform/limits.ts';
import { type Harness, type Ingress, goodBody, openHarness, post } from './harness.ts';

let harness: Harness;
let ingress: Ingress;
beforeAll(async () => {
  harness = await openHarness();
  ingress = await harness.ingress();
});
afterAll(() => harness.stop());

const dry = { ...goodBody, dry_run: 'explain' };

test('a key that may not send learns nothing, not even that the number or the sender is wrong', async () => {
  const reader = await harness.tenant({ scopes: ['sms:read'] });
  for (const body of [dry, { ...dry, to: '+8801912345678' }, { ...dry, from: 'NOBODY' }]) {
    expect(await post(ingress, reader.live, body)).toMatchObject({ status: 403, body: { code: 'scope_missing' } });
  }
});

test('why the registry of do-not-disturb was not asked is said to every key', async () => {
  const asker = await harness.tenant();
  const detailOf = async (token: string) => {
    const { body } = await post(ingress, token, dry);
    return (body['gates'] as { gate: string; detail: string }[]).find(({ gate }) => gate === 'do_not_disturb')?.detail;
  };
  expect(await detailOf(asker.live)).toMatch(/^(no registry was imported|the registry is not asked for)/);
  expect(await detailOf(asker.test)).toBe('test messages reach nobody');
});

test('an account has a burst of them and then waits; another one has its own, and sending continues', async () => {
  const [asker, other] = [await harness.tenant(), await harness.tenant()];
  const answers = await Promise.all(
    Array.from({ length: limits.access.dryRunsBurst * 2 }, () => post(ingress, asker.live, dry)),
  );
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(limits.access.dryRunsBurst);
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused[0]?.body).toMatchObject({ code: 'rate_limited' });
  expect(statuses.every((status) => status === 200 || status === 429)).toBe(true);
  expect((await post(ingress, other.live, dry)).status).toBe(200);
  expect((await post(ingress, asker.live, goodBody)).status).toBe(202);
});
