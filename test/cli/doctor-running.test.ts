// The doctor and `carriers list` beside a running system with faults: a real host process with a real simulator as its
// SMSC peer. Whatever stops or slows a carrier is reported first, with advice.
import { afterEach, expect, test } from 'vitest';
import { examineCarriers } from '../../cli/doctor-carriers.ts';
import type { Finding } from '../../cli/doctor-reported.ts';
import type { BindConfig, CarrierConfig } from '../../config/configuration.ts';
import { issueCommand } from '../../cluster/operator-commands/commands.ts';
import { askForCarriers } from '../../cluster/operator-commands/reports.ts';
import { until } from '../support/until.ts';
import { startSimulator } from '../../smpp/simulator/simulator.ts';
import { makeCertificates } from '../smpp/certificates.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../support/carrier-harness.ts';
import { runCliHere } from '../support/cli-here.ts';
import { runCli } from '../support/cli.ts';
import { freePort } from '../../cluster/embedded/ports.ts';
import { readFileSync } from 'node:fs';

let harness: CarrierHarness;
const ends: (() => unknown)[] = [];
afterEach(async () => {
  await harness?.stop();
  for (const end of ends.splice(0).reverse()) await end();
});

const waiting = { everyMs: 50 };

const doctor = (carrier: CarrierConfig, force = false): Promise<Finding[]> =>
  examineCarriers({ carriers: [carrier], natsUrl: harness.nats.url, isRunning: true, force, stepMs: 5_000 });
const isGood = (list: string) => /^alpha {2}running {2}good, /m.test(list);
const list = async (): Promise<string> => {
  const env = { NATS_URL: harness.nats.url, HELIOGRAPH_CONFIG: 'nowhere.yaml' };
  return (await runCli(['carriers', 'list'], env)).stdout;
};
const order = (verb: 'pause' | 'drain' | 'resume', bind: number | null, reason: string) =>
  issueCommand(harness.bus, { verb, carrier: 'alpha', bind, reason, actor: 'operator', from: 'me@here' });
const bound = (count: number) => until('bound', () => harness.simulator.stats().binds.now === count, waiting);

test('a command in effect is reported, of the carrier and of one bind, and is no fault', async () => {
  harness = await openCarrierHarness();
  const alpha = carrierWith(harness.simulator);
  await harness.host([alpha]);
  await bound(2);
  expect((await doctor(alpha)).map(({ check, ok, note }) => [check, ok, note])).toEqual([
    ['alpha/1', true, undefined],
    ['alpha/2', true, undefined],
  ]);
  await order('pause', 2, 'one too many');
  expect((await doctor(alpha))[1]).toMatchObject({
    ok: true,
    note: true,
    detail: expect.stringMatching(
      /is bound .*\npaused by an operator command: .* by operator \(me@here\): one too many\n→ .*carriers resume alpha --bind 2$/,
    ),
  });
  await order('pause', null, 'their maintenance');
  expect((await doctor(alpha))[0]).toMatchObject({
    check: 'alpha',
    ok: true,
    note: true,
    detail: expect.stringMatching(
      /^paused by an operator command: nothing is submitted .*: their maintenance\n→ .*resume alpha$/,
    ),
  });
});

test('why a bind is missing is reported with what to do, as with --force', async () => {
  harness = await openCarrierHarness();
  const files = makeCertificates();
  ends.push(() => files.remove());
  const secure = await startSimulator({
    magic: false,
    tls: { cert: readFileSync(files.path('server.pem'), 'utf8'), key: readFileSync(files.path('server.key'), 'utf8') },
  });
  ends.push(() => secure.close());
  const one = (name: string, bind: Partial<BindConfig>) =>
    carrierWith(harness.simulator, { name, bind: { count: 1, ...bind } });
  const tls = { caFile: files.path('other-ca.pem'), certFile: null, keyFile: null, serverName: null, verify: true };
  const carriers = {
    away: one('away', { port: await freePort() }),
    locked: one('locked', { password: 'hunter2' }),
    nameless: one('nameless', { host: 'smsc.invalid' }),
    foreign: one('stranger', { port: secure.port, tls }),
  };
  await harness.host(Object.values(carriers));
  await until(
    'all have failed',
    async () => {
      const published = await askForCarriers(harness.bus);
      // A component that does not answer in time has not failed.
      return (
        published.length === Object.keys(carriers).length &&
        published.every(({ binds }) => binds.every(({ reason }) => reason !== ''))
      );
    },
    waiting,
  );
  const saysOf = async (carrier: CarrierConfig) => {
    const [finding, ...more] = await doctor(carrier);
    expect(finding?.ok).toBe(false);
    expect(more).toEqual([]);
    expect(finding?.detail).not.toContain('the running system has it');
    return finding?.detail ?? '';
  };
  expect(await saysOf(carriers.away)).toMatch(
    /is (waiting|connecting): connect_failed: .*nothing listens at 127\.0\.0\.1:.*\n→ correct binds\.host and binds\.port/,
  );
  expect(await saysOf(carriers.locked)).toMatch(
    /is stopped: .*the password is wrong.*\n→ correct binds\.password.*then: carriers resume locked$/,
  );
  expect(await saysOf(carriers.nameless)).toMatch(
    // A resolver without a way out gives no answer.
    /(smsc\.invalid has no address.*\n→ correct binds\.host|does not answer at all)/,
  );
  expect(await saysOf(carriers.foreign)).toMatch(/from an authority that is not trusted here.*\n→ set tls\.ca_file/);
  await until('a next try is shown', async () => /away\/1 .*, next try in \d+ s/.test(await list()), waiting);
});

test('more sessions than the carrier allows: the advice is a lower count, with and without --force', async () => {
  harness = await openCarrierHarness({ bindsMax: 1 });
  const alpha = carrierWith(harness.simulator);
  await harness.host([alpha]);
  await until('one is refused', () => harness.simulator.stats().binds.refused >= 1, waiting);
  const found = await until(
    'it is reported',
    async () => {
      const findings = await doctor(alpha);
      return findings.some(({ detail }) => detail.includes('ESME_RALYBND')) && findings;
    },
    waiting,
  );
  const bad = found.filter(({ ok }) => !ok);
  expect(bad).toHaveLength(1);
  expect(bad[0]?.detail).toMatch(/next try in \d+ s/);
  const [forced] = await doctor(alpha, true);
  for (const { detail } of [bad[0]!, forced!]) {
    expect(detail).toContain(
      'has 1 of the 2 that heliograph.yaml asks for: lower binds.count to 1, or ask the carrier',
    );
    expect(detail).not.toContain('nothing to do');
  }
});

test('a carrier that throttles is seen in the list, by the doctor, and once in the log', async () => {
  harness = await openCarrierHarness({ accounts: [{ systemId: 'heliograph', password: 'sandbox', tps: 5 }] });
  const alpha = carrierWith(harness.simulator, { tps: 50 });
  const host = await harness.host([alpha], { logLevel: 'warn' });
  await bound(2);
  expect(await list()).not.toContain('/s (');
  await harness.send(60, { category: 'transactional' });
  const alarms = () => host.lines().filter(({ alarm }) => alarm === 'carrier_throttles');
  await until('it is reported', () => alarms().length > 0, waiting);
  expect(await list()).toMatch(/^alpha {2}running {2}\w+.*, \d+ in flight, [\d.]+ of 50\/s \(ESME_RTHROTTLED\)$/m);
  const [carrier, ...binds] = await doctor(alpha);
  expect(carrier).toMatchObject({
    check: 'alpha',
    ok: false,
    detail: expect.stringMatching(
      /^is sent [\d.]+ of 50\/s \(ESME_RTHROTTLED\)\n→ .*set `tps` to the rate of the contract/,
    ),
  });
  expect(binds.map(({ ok }) => ok)).toEqual([true, true]);
  await until('it has complained for a while', () => harness.simulator.stats().submits.total > 60, waiting);
  expect(alarms()).toMatchObject([{ level: 'warn', carrier: 'alpha', status: 'ESME_RTHROTTLED', ofPerS: 50 }]);
});

test('a carrier that is avoided although its binds are bound shows since when, and until when', async () => {
  harness = await openCarrierHarness();
  const { port } = harness.simulator;
  await harness.host([carrierWith(harness.simulator)]);
  await bound(2);
  const env = { NATS_URL: harness.nats.url, HELIOGRAPH_CONFIG: 'nowhere.yaml' };
  const shown = async () => (await runCliHere(['carriers', 'list'], env)).stdout;
  await harness.simulator.close();
  // It recovers for three seconds, which a busy machine may not see; after a relapse it takes twice as long.
  for (let seen = false; !seen; ) {
    await until('it is avoided', async () => /(weak|down) \(no_bind\)/.test(await shown()), waiting);
    const again = await startSimulator({ magic: false, port });
    ends.push(() => again.close());
    await until(
      'it recovers, or is good',
      async () => {
        const text = await shown();
        seen = /(weak|down) \(no_bind; recovering for \d+ s, good in \d+ s if it lasts\)/.test(text);
        return seen || isGood(text);
      },
      waiting,
    );
    if (!seen) await again.close();
  }
  await until('it is good', async () => isGood(await shown()), waiting);
});
