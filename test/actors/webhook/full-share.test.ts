// The share of parked events of an account is full of what waits for an endpoint that is away: another one of the account, which
// works or has failed lately, loses nothing for that.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { parkedSubject, retrySubject } from '../../../cluster/bus/subjects.ts';
import type { WebhookEndpointId } from '../../../model/ids.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { movedClock } from '../../support/moved-clock.ts';
import { until } from '../../support/until.ts';
import {
  type RunningWebhooks,
  type WebhookBus,
  putAccount,
  putEndpoint,
  runWebhooks,
  startWebhookBus,
} from '../../support/webhooks.ts';

const perAccount = 40;
const hourMs = 3_600_000;
/** A second try is made five seconds after the first. */
const limitMs = 60_000;

let bus: WebhookBus;
let running: RunningWebhooks | null = null;

beforeAll(async () => {
  bus = await startWebhookBus();
});
afterEach(async () => {
  await running?.stop();
  running = null;
  await bus.bus.manager.streams.purge(streamNames.webhookLog);
});
afterAll(() => bus.stop());

/** An account whose whole share waits for an endpoint that is disabled; and one that has taken the same events. */
async function fullAccount() {
  const accountId = await putAccount(bus.bus);
  const [away, hook] = [await bus.receiver(), await bus.receiver()];
  const disabled = { status: 'disabled', disabledReason: 'client' } as const;
  const { entry } = await putEndpoint(bus.bus, { accountId, url: away.url, ...disabled });
  const { entry: own } = await putEndpoint(bus.bus, { accountId, url: hook.url });
  const clock = movedClock();
  const share = { total: 1_000, perAccount, reserve: 0 };
  running = await runWebhooks(bus.bus, { clock, shares: { ...defaultShares, webhook_parked: share } });
  await until('it delivers', () => running?.node.state === 'delivers');
  const all = await bus.publishMany(accountId, perAccount);
  const waiting = async (of: string) => {
    const info = await bus.bus.manager.streams.info(streamNames.webhookLog, { subjects_filter: of });
    return Object.values(info.state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
  };
  const subjectsOf = (id: WebhookEndpointId) => ({
    line: () => waiting(parkedSubject(accountId, id)),
    retries: () => waiting(retrySubject(accountId, id)),
  });
  await until('the share is full', async () => (await subjectsOf(entry.id).line()) === perAccount);
  await until('the other one has all', () => hook.received.length === all.length);
  return { accountId, away, entry, hook, clock, ofAway: subjectsOf(entry.id), ofHook: subjectsOf(own.id) };
}

test('an event that an endpoint refuses twice is kept for its third try', async () => {
  const { accountId, hook, clock, ofAway, ofHook } = await fullAccount();
  let refused = 0;
  hook.answer = () => ({ status: (refused += 1) <= 2 ? 500 : 204 });
  const [id] = await bus.publishMany(accountId, 1);
  await until('it is kept', async () => (await ofHook.retries()) === 1, { limitMs });
  await until('the other one has lost its oldest', async () => (await ofAway.line()) < perAccount);
  expect(await ofAway.line()).toBeGreaterThanOrEqual(perAccount - 3);
  clock.to(clock.nowMs() + hourMs);
  await until('the third try', () => hook.received.filter((each) => each.id === id).length === 3);
  await until('it is done', async () => (await ofHook.retries()) === 0);
}, 90_000);

test('an endpoint that fails keeps all that it holds and all that comes, and the one with the most its newest', async () => {
  const { accountId, away, entry, hook, clock, ofAway, ofHook } = await fullAccount();
  hook.answer = () => ({ status: 500 });
  const held = await bus.publishMany(accountId, 6);
  await until('all of it is parked', async () => (await ofHook.line()) === held.length, { limitMs });
  const later = await bus.publishMany(accountId, 4);
  const all = [...held, ...later];
  await until('what came later, too', async () => (await ofHook.line()) === all.length);
  await until('together they have their share', async () => (await ofAway.line()) <= perAccount - all.length);
  expect(await ofAway.line()).toBeGreaterThan(perAccount / 2);
  const [before, taken] = [hook.received.length, () => new Set(hook.received.slice(before).map(({ id }) => id))];
  hook.answer = () => ({ status: 204 });
  clock.to(clock.nowMs() + hourMs);
  await until('it has all of them', async () => (await ofHook.line()) === 0);
  expect([...taken()].toSorted()).toEqual(all.toSorted());
  // What is left of the other one is delivered when it is back.
  const left = await ofAway.line();
  await putEndpoint(bus.bus, { ...entry, status: 'enabled', disabledReason: null });
  await until('it has what was left', async () => (await ofAway.line()) === 0);
  expect(new Set(away.received.map(({ id }) => id)).size).toBe(left);
}, 90_000);

test('of the one with the most nothing goes for its own sake: what comes for it is dropped', async () => {
  const { accountId, hook, ofAway } = await fullAccount();
  await bus.publishMany(accountId, 5);
  await until('the other one has them', () => hook.received.length === perAccount + 5);
  expect(await ofAway.line()).toBe(perAccount);
});
