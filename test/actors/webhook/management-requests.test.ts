// What the management API asks of the delivery process: a test event ends while the API waits for it, and no account takes
// the places of the others.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Busy, EndpointOf, ReplayAnswer, TestAnswer, TestRequest } from '../../../actors/webhook/contract.ts';
import { webhookSubjects } from '../../../actors/webhook/contract.ts';
import { signedHeaders, signingKeys } from '../../../actors/webhook/send/signature.ts';
import { ReplayRecords } from '../../../actors/webhook/replay/replay-records.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import type { AccountId } from '../../../model/ids.ts';
import { newWebhookSecret, sealWebhookSecrets } from '../../../model/webhook-secrets.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { patienceMs, until } from '../../support/until.ts';
import {
  type RunningWebhooks,
  type WebhookBus,
  putAccount,
  putEndpoint,
  runWebhooks,
  startWebhookBus,
  webhookCipher,
} from '../../support/webhooks.ts';

let bus: WebhookBus;
let running: RunningWebhooks | null = null;
beforeAll(async () => {
  bus = await startWebhookBus();
});
afterEach(async () => {
  await running?.stop();
  running = null;
});
afterAll(() => bus.stop());

async function start(shares = defaultShares, clock = systemClock): Promise<void> {
  const started = await runWebhooks(bus.bus, { shares, clock });
  running = started;
  await until('it delivers', () => started.node.state === 'delivers');
}
const endpointOf = async (accountId: AccountId, url: string): Promise<TestRequest> => {
  const { entry } = await putEndpoint(bus.bus, { accountId, url });
  return { accountId, endpointId: entry.id, endpoint: entry };
};
const known = ({ endpointId }: EndpointOf) =>
  until('it is known', () => running?.directory.webhookEndpoint(endpointId) !== undefined);
async function ask<Answer>(
  subject: string,
  request: object,
  timeout: number = limits.webhooks.askMs,
): Promise<Answer | Busy> {
  return (await bus.bus.connection.request(subject, JSON.stringify(request), { timeout })).json();
}
const isWorking = (answer: object) => !('busy' in answer);

test('a test event to an endpoint that does not answer: a timeout, while the API waits', async () => {
  await start();
  const hanging = await bus.receiver(() => null);
  const of = await endpointOf(await putAccount(bus.bus), hanging.url);
  await known(of);
  const answer = await ask<TestAnswer>(webhookSubjects.test, of);
  expect(answer).toMatchObject({ attempt: { error: 'timeout', status: null } });
  expect(hanging.received.length).toBe(1);
});

test('a test event is signed with the secrets that it was asked for with, before the directory has them', async () => {
  await start();
  const { url, received } = await bus.receiver();
  const of = await endpointOf(await putAccount(bus.bus), url);
  await known(of);
  const secret = newWebhookSecret();
  const sealedSecrets = sealWebhookSecrets([{ secret, untilMs: null }], of.endpointId, webhookCipher);
  const request: TestRequest = { ...of, endpoint: { ...of.endpoint, sealedSecrets } };
  expect(await ask<TestAnswer>(webhookSubjects.test, request)).toMatchObject({ attempt: { error: null } });
  const [{ headers, body, id } = expect.fail('nothing came')] = received;
  const keys = signingKeys([secret]);
  expect(signedHeaders(id, Number(headers['webhook-timestamp']), body, keys)['webhook-signature']).toBe(
    headers['webhook-signature'],
  );
});

test('an account whose tests hang has its share: the next one is refused, and others are answered', async () => {
  // The tests do not end while a busy machine sends the next ones.
  const after: Clock['after'] = (ms, run) => systemClock.after(ms === limits.delivery.testMs ? patienceMs : ms, run);
  const shares = { ...defaultShares, webhook_management: { total: 2, perAccount: 1, reserve: 0 } };
  await start(shares, { ...systemClock, after });
  const [one, other, third] = [await putAccount(bus.bus), await putAccount(bus.bus), await putAccount(bus.bus)];
  const ends = Promise.withResolvers<{ status: number }>();
  const hanging = await bus.receiver(() => ends.promise);
  const of = await endpointOf(one, hanging.url);
  const ofOther = await endpointOf(other, hanging.url);
  const ofThird = await endpointOf(third, hanging.url);
  await known(ofThird);
  const first = ask<TestAnswer>(webhookSubjects.test, of, patienceMs);
  await until('it hangs', () => hanging.received.length === 1);
  expect(await ask(webhookSubjects.test, of)).toEqual({ busy: 'account_full' });
  const second = ask<TestAnswer>(webhookSubjects.test, ofOther, patienceMs);
  await until('another one hangs', () => hanging.received.length === 2);
  expect(await ask(webhookSubjects.test, ofThird)).toEqual({ busy: 'full' });
  ends.resolve({ status: 204 });
  expect([await first, await second].every(isWorking)).toBe(true);
  expect(isWorking(await ask(webhookSubjects.test, of))).toBe(true);
});

test('replays: each account has its share, and one that was begun goes on in the next process', async () => {
  const [one, other, third] = [await putAccount(bus.bus), await putAccount(bus.bus), await putAccount(bus.bus)];
  const { url } = await bus.receiver();
  const ofOne = await endpointOf(one, url);
  const ofOther = await endpointOf(other, url);
  // No event store answers here: these run until one does.
  const before = new ReplayRecords(await openBucket(bus.bus, 'webhooks'));
  const time = { sinceMs: 1, untilMs: 2 };
  for (const each of [ofOne, ofOther]) {
    const replay = { ...each, ...time, again: '.a', place: { source: 'messages', after: '' } as const };
    expect(await before.begin(replay)).toBe(true);
    expect(await before.begin(replay)).toBe(false);
  }
  await start({ ...defaultShares, webhook_replays: { total: 2, perAccount: 1, reserve: 0 } });
  const replay = (of: EndpointOf) => ask<ReplayAnswer>(webhookSubjects.replay, { ...of, ...time, eventId: null });
  expect(await replay(ofOne)).toEqual({ ok: false, why: 'running' });
  const [second, ofThird] = [await endpointOf(one, url), await endpointOf(third, url)];
  await known(ofThird);
  expect(await replay(second)).toEqual({ busy: 'account_full' });
  expect(await replay(ofThird)).toEqual({ busy: 'full' });
  // The process before does not write of what is not its own any more.
  const goesOn = { ...ofOne, ...time, again: '.a', place: { source: 'messages', after: 'sms_1' } as const };
  expect(await before.goOn(goesOn)).toBe(false);
  await before.end(goesOn);
  expect(await before.takeOverOf(ofOne.endpointId)).toMatchObject({ place: { after: '' } });
});
