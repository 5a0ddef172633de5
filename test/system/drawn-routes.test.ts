// A route drawn by conversion between two carriers that both claim to deliver everything, through two ingress
// processes, the actors of both carriers and their simulators; there is no database and no event store. What one carrier
// takes reaches nobody, so that its codes are never entered. Counted at the simulators: the traffic goes to the other one,
// the first keeps its floor, and by that it is found when it delivers again.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CarrierConfig } from '../../config/configuration.ts';
import { systemClock } from '../../platform/clock.ts';
import { seededRandom } from '../../platform/random.ts';
import { carrierHealth } from '../../cluster/bus/carrier-heartbeat.ts';
import { GuardTalk } from '../../cluster/bus/otp-guard-talk.ts';
import { conversionFigures } from '../../policy/otp-conversion/figures.ts';
import { otpRulesDefault } from '../../policy/otp/contract.ts';
import { type GuardModes, guardRules } from '../../policy/otp-guard/contract.ts';
import { parseLatency } from '../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../smpp/simulator/simulator.ts';
import { type Harness, type Ingress, type Tenant, allScopes, call, openHarness } from '../api/http/harness.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../support/carrier-harness.ts';
import { until } from '../support/until.ts';

const conversion = 0.7;
const folder = mkdtempSync(join(tmpdir(), 'heliograph-drawn-'));
const jumpFile = join(folder, 'ahead');
let harness: Harness;
let carriers: CarrierHarness;
let alpha: Simulator;
let beta: Simulator;
/** Whose messages reach people. */
let reaching: Simulator;
let ingresses: Ingress[];
let tenant: Tenant;
/** A key that sees what only operators see. */
let operator: string;

/** What the ingresses have published and received from the carriers. */
const published = { taken: 0, verified: 0 };
const heartbeats = new Map<string, number>();

beforeAll(async () => {
  writeFileSync(jumpFile, '0');
  harness = await openHarness();
  carriers = await openCarrierHarness({}, harness);
  alpha = carriers.simulator;
  const quick = { latency: parseLatency('fixed:20')!, response: parseLatency('fixed:0')! };
  beta = await startSimulator({ ...quick, magic: false });
  reaching = alpha;
  for (const carrier of configured()) await carriers.actor(carrier);
  new GuardTalk(harness.bus, 'test').listen(({ kind }) => {
    if (kind === 'taken' || kind === 'verified') published[kind] += 1;
  });
  carrierHealth.watch(harness.bus, ({ carrier }) => heartbeats.set(carrier, (heartbeats.get(carrier) ?? 0) + 1));
  ingresses = [await startIngress(), await startIngress()];
  tenant = await harness.tenant();
  operator = await harness.key(tenant, [...allScopes, 'carriers:read']);
});
afterAll(async () => {
  await carriers.stop();
  await beta.close();
  await harness.stop();
  rmSync(folder, { recursive: true });
});

// So many codes that nobody enters are what the guard against fraud looks for.
const modes = Object.fromEntries(guardRules.map((rule) => [rule, 'off'])) as GuardModes;
const guard = { ...otpRulesDefault.guard, modes };
const configOf = (name: string, simulator: Simulator): CarrierConfig => carrierWith(simulator, { name });
const configured = () => [configOf('alpha', alpha), configOf('beta', beta)];
const startIngress = () =>
  harness.ingress({ CLOCK_JUMP_FILE: jumpFile, HELIOGRAPH_OWN_BUS: 'yes' }, 1, {
    carriers: [...configured(), configOf('sandbox', alpha)],
    routes: [{ prefix: '+88017', classes: ['otp'], carriers: ['beta', 'alpha'], choose: 'conversion' }],
    otp: { ...otpRulesDefault, guard },
  });

const random = seededRandom(11);
const numbers = new Set<string>();
function newUser(): string {
  const to = `+88017${String(Math.floor(random.unit() * 1e8)).padStart(8, '0')}`;
  if (numbers.has(to)) return newUser();
  numbers.add(to);
  return to;
}

/** Starts one; who gets the message enters its code with the usual conversion. Resolves when it was entered. */
async function oneUser(): Promise<boolean> {
  const to = newUser();
  const isWilling = random.unit() < conversion;
  const [ingress, other] = random.unit() < 0.5 ? ingresses : ingresses.toReversed();
  const { status, body } = await call(ingress!, 'POST', '/v1/otp', tenant.live, { to });
  expect({ status, body }).toMatchObject({ status: 201 });
  const find = (simulator: Simulator) => simulator.messages({ destination: to.slice(1) })[0];
  const taken = await until('a carrier has it', () => find(alpha) ?? find(beta) ?? false);
  if (!isWilling || find(reaching) === undefined) return false;
  const code = /\d{6}/.exec(taken.text)?.[0] ?? '';
  const verified = await call(other!, 'POST', `/v1/otp/${body['id']}/verify`, tenant.live, { code });
  expect(verified.body).toMatchObject({ valid: true });
  return true;
}

/** So many users; resolves with how many messages each carrier took, when every ingress knows which were entered. */
async function users(count: number): Promise<{ readonly alpha: number; readonly beta: number }> {
  const taken = () => [alpha, beta].map((simulator) => simulator.stats().submits.total) as [number, number];
  const [before, toldBefore] = [taken(), { ...published }];
  let entered = 0;
  for (let done = 0; done < count; done += 20) {
    const results = await Promise.all(Array.from({ length: 20 }, oneUser));
    entered += results.filter(Boolean).length;
    batches.push({ count: 20, atMs: nowMs() });
  }
  await until('all is published', () => {
    return published.taken - toldBefore.taken === count && published.verified - toldBefore.verified === entered;
  });
  const after = taken();
  const counts = { alpha: after[0] - before[0], beta: after[1] - before[1] };
  expect(counts.alpha + counts.beta).toBe(count);
  return counts;
}

const { maturityMs, halfLifeMs } = conversionFigures;
let aheadMs = 0;
const nowMs = () => systemClock.monotonicMs() + aheadMs;
const batches: { readonly count: number; readonly atMs: number }[] = [];

/** The clocks of the ingresses are so much further, and each has counted all codes by their age, within a hundredth. */
async function later(ms: number): Promise<void> {
  aheadMs += ms;
  writeFileSync(jumpFile, String(aheadMs));
  for (const ingress of ingresses) {
    await until('all codes are counted', async () => {
      const counted = [...(await countedBy(ingress)).values()].reduce((sum, each) => sum + each, 0);
      const ages = batches.map(({ count, atMs }) => count * 0.5 ** ((nowMs() - atMs - maturityMs) / halfLifeMs));
      return Math.abs(counted / ages.reduce((sum, each) => sum + each, 0) - 1) < 0.01;
    });
  }
  // To clocks that went ahead the carriers are silent, until their next heartbeat.
  const before = new Map(heartbeats);
  await until('the heartbeats of the carriers are received', () =>
    ['alpha', 'beta'].every((name) => (heartbeats.get(name) ?? 0) >= (before.get(name) ?? 0) + 2),
  );
}

/** By carrier and result, as in the metric. */
async function countedBy(ingress: Ingress): Promise<ReadonlyMap<string, number>> {
  const { metrics } = await ingress.ask();
  const found = metrics.flat().filter(({ name }) => name === 'heliograph_otp_conversion_codes');
  const values = found.flatMap((each) => each.values as { labels: Record<string, string>; value: number }[]);
  return new Map(values.map(({ labels, value }) => [`${labels['carrier']} ${labels['result']}`, value]));
}

/** What a dry run says of the carriers. */
async function explained(token: string, ingress = ingresses[0]!): Promise<string[]> {
  const asked = { to: newUser(), from: 'HELIO', message: 'Your code is 123456', category: 'otp', dry_run: 'explain' };
  const { status, body } = await call(ingress, 'POST', '/v1/sms', token, asked);
  expect({ status, body }).toMatchObject({ status: 200 });
  const routes = body['routes'] as { carrier: string; why: string }[];
  return routes.map(({ carrier, why }) => `${carrier}: ${why}`).toSorted();
}

test('traffic goes to the carrier whose codes are entered, the other one keeps its floor, and it is said why', async () => {
  // Nothing is known: even. Four standard deviations.
  const first = await users(120);
  expect(Math.abs(first.beta - 60)).toBeLessThan(22);
  await later(maturityMs);
  const [one, two] = await Promise.all(ingresses.map(countedBy));
  for (const [name, counted] of one ?? []) {
    expect(Math.abs(counted - (two?.get(name) ?? 0)), name).toBeLessThan(1);
  }
  expect(one?.get('beta verified')).toBe(0);
  const then = await users(600);
  // The floor is 2 % of them: 12, and no more than five standard deviations.
  expect(then.beta).toBeGreaterThan(0);
  expect(then.beta).toBeLessThan(12 + 18);
  // It claims to have delivered them.
  await until('beta claims them', () => beta.stats().receipts.sent >= first.beta + then.beta);
  await later(maturityMs);
  const [ofAlpha, ofBeta] = await explained(operator);
  expect(ofAlpha).toMatch(
    /^alpha: route \+88017, conversion: (drew (?:0\.\d\d|1\.00)|floor of 2 %), \d{3} of \d{3} codes entered$/,
  );
  expect(ofBeta).toMatch(/^beta: route \+88017, conversion: (drew 0\.\d\d|floor of 2 %), 0 of \d\d codes entered$/);
  expect(await explained(tenant.live)).toEqual(['alpha: route +88017, conversion', 'beta: route +88017, conversion']);
}, 120_000);

test('when it delivers again, and the other one does not, the traffic follows', async () => {
  reaching = beta;
  const shares: number[] = [];
  for (let round = 0; round < 8 && (shares.at(-1) ?? 0) < 0.8; round += 1) {
    shares.push((await users(300)).beta / 300);
    await later(halfLifeMs);
  }
  expect(shares.at(-1)).toBeGreaterThanOrEqual(0.8);
}, 120_000);

test('a restarted ingress knows nothing, and begins with even shares', async () => {
  await Promise.all(ingresses.map((ingress) => ingress.drain()));
  ingresses = [await startIngress(), await startIngress()];
  const whys = await explained(operator);
  expect(whys.every((why) => why.endsWith('0 of 0 codes entered'))).toBe(true);
  const { beta: ofBeta } = await users(120);
  expect(Math.abs(ofBeta - 60)).toBeLessThan(22);
}, 120_000);
