// A running system whose heliograph.yaml is edited, and one of whose carriers goes down: changes are in effect within a
// second at the ingress and at the carriers, errors change nothing, and traffic is rerouted.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { limits } from '../../platform/limits.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';
import { runningClock, within } from '../support/running-clock.ts';

let harness: SystemHarness;
let inEffect: string;

beforeAll(async () => {
  const routing = 'routing: { fallback: [beta], otp_failover_after_s: 0.4, others_failover_after_s: 2 }\n';
  harness = await openSystemHarness({ configured: (text) => text + routing });
  inEffect = harness.configuration;
});
afterAll(() => harness?.stop());

let sent = 0;
/** Sends one message to a number of `prefix`; gives its nonce. */
async function send(prefix: string, category = 'transactional'): Promise<string> {
  sent += 1;
  const nonce = (36 ** 3 + sent).toString(36);
  const to = `+880${prefix}${String(sent).padStart(8, '0')}`;
  const reply = await harness.client.post({ to, category, message: `reload #${nonce}# test` });
  if (reply.status !== 202) throw new Error(`${reply.status} ${JSON.stringify(reply.json)}`);
  return nonce;
}
/** Messages without an answer when their carrier went down. */
const unknown = async (): Promise<number> => {
  // The event store may not answer in time.
  const { data } = await until('the list', async () => {
    const { status, json } = await harness.client.call('GET', '/v1/sms?status=unknown&limit=100');
    return status === 200 && (json as { data: unknown[] });
  });
  return data.length;
};
const edit = (find: string, put: string) => {
  expect(inEffect).toContain(find);
  inEffect = inEffect.replace(find, put);
  writeFileSync(join(harness.system.dataDir, 'heliograph.yaml'), inEffect);
};
const configurationHealth = async () => {
  const response = await fetch(`${harness.system.adminUrl}/health/ready`);
  const body = (await response.json()) as { configuration: { inEffect: boolean; problems?: string[] } };
  return { code: response.status, ...body.configuration };
};
const at = (carrier: 'alpha' | 'beta' | 'gamma', nonce: string) =>
  harness.smscPeers.carriers[carrier].nonceCount(nonce) === 1;

describe('an edited file', () => {
  it('changes the route of a prefix within a second', async () => {
    const before = await send('17');
    await until('the first at alpha', () => at('alpha', before));
    edit('"17": alpha', '"17": gamma');
    const oneIsAtGamma = async () => {
      const nonce = await send('17');
      await until('it is somewhere', () => harness.smscPeers.countOf(nonce) === 1, { everyMs: 2 });
      return at('gamma', nonce);
    };
    await until('one at gamma', oneIsAtGamma, within(1_000));
    edit('"17": gamma', '"17": alpha');
    await until('the change', async () => {
      const nonce = await send('17');
      await until('it is somewhere', () => harness.smscPeers.countOf(nonce) === 1, { everyMs: 2 });
      return at('alpha', nonce);
    });
  });

  it('gives a carrier another contract within a second, without touching its binds', async () => {
    const binds = harness.smscPeers.carriers.gamma.stats().binds.total;
    edit('- name: gamma\n    tps: 5000', '- name: gamma\n    tps: 2');
    // By the carrier itself: it learns it after the supervisor has counted it.
    await until('the slow contract', async () => {
      const text = await (await fetch(`${harness.system.adminUrl}/metrics`)).text();
      return text.includes('\nheliograph_carrier_contract_per_s{carrier="gamma"} 2\n');
    });
    expect(await harness.system.metric('heliograph_config_reloads_total')).toBe(3);
    const sentFromMs = systemClock.monotonicMs();
    const nonces = await Promise.all(Array.from({ length: 40 }, () => send('18')));
    const there = () => nonces.filter((nonce) => at('gamma', nonce)).length;
    await until('the first', () => there() > 0);
    const slow = Math.min(40, 2 * ((systemClock.monotonicMs() - sentFromMs) / 1_000) + 8);
    expect(there()).toBeLessThan(slow);
    edit('- name: gamma\n    tps: 2', '- name: gamma\n    tps: 4000');
    // A second, and the time on the way; at the slow rate they take fifteen.
    await until('all of them', () => there() === 40, { everyMs: 5, ...within(1_300) });
    expect(harness.smscPeers.carriers.gamma.stats().binds.total).toBe(binds);
  });

  it('opens changed binds again, and loses nothing meanwhile', async () => {
    const bindsBefore = harness.smscPeers.carriers.gamma.stats().binds.total;
    const nonces: string[] = [];
    edit('tps: 4000\n    enquire_link_s: 30', 'tps: 4000\n    enquire_link_s: 31');
    await until('new binds', async () => {
      nonces.push(await send('18'));
      return harness.smscPeers.carriers.gamma.stats().binds.total >= bindsBefore + 2;
    });
    for (let more = 0; more < 20; more += 1) nonces.push(await send('18'));
    // What was being delivered to the stopped actor is redelivered after ack_wait.
    const all = () => nonces.every((nonce) => at('gamma', nonce));
    await until('all at gamma once', all, { limitMs: limits.carrier.ackWaitMs * 2 });
    expect(await configurationHealth()).toEqual({ code: 200, inEffect: true });
  });

  it('that is wrong, or needs a restart, changes nothing, and /health/ready says why', async () => {
    const good = inEffect;
    edit('tps: 4000', 'tps: fast');
    const refused = await until('the refusal', async () => {
      const health = await configurationHealth();
      return !health.inEffect && health;
    });
    expect(refused).toMatchObject({ code: 200, problems: [expect.stringContaining('tps: found "fast"')] });
    expect(await harness.system.metric('heliograph_config_reload_failed_total')).toBe(1);
    const nonce = await send('18');
    await until('it goes on', () => at('gamma', nonce));
    inEffect = good;
    edit('actors: { threads: 1 }', 'actors: { threads: 2 }');
    await until('the other refusal', async () =>
      (await configurationHealth()).problems?.[0]?.startsWith('needs a restart: actors'),
    );
    inEffect = good;
    edit('tps: 4000', 'tps: 4001');
    await until('in effect', async () => (await configurationHealth()).inEffect);
  });

  it('is what a restarted child begins with', async () => {
    edit('"17": alpha', '"17": gamma');
    await until('the change', async () => {
      const nonce = await send('17');
      await until('it is somewhere', () => harness.smscPeers.countOf(nonce) === 1, { everyMs: 2 });
      return at('gamma', nonce);
    });
    await harness.system.kill9('ingress');
    const nonce = await until('an answer', () => send('17').catch(() => null));
    await until('at gamma', () => at('gamma', nonce));
    edit('"17": gamma', '"17": alpha');
  });
});

describe('a carrier that goes down', () => {
  it('is avoided by the ingress within about a second, and nothing is lost or sent twice', async () => {
    await until('alpha is used', async () => {
      const nonce = await send('17');
      await until('it is somewhere', () => harness.smscPeers.countOf(nonce) === 1, { everyMs: 2 });
      return at('alpha', nonce);
    });
    await harness.smscPeers.carriers.alpha.close();
    const clock = runningClock();
    const began = clock.monotonicMs();
    const otp: string[] = [];
    const bulk: string[] = [];
    while (clock.monotonicMs() - began < 4_000) {
      otp.push(await send('17', 'otp'));
      bulk.push(await send('17', 'promotional'));
      await systemClock.sleep(20);
    }
    // Submits without an answer when alpha went down are unknown, and arrived or not. An ack deadline may have to pass
    // first.
    const elsewhere = () => [...otp, ...bulk].filter((nonce) => !at('beta', nonce));
    const isSettled = async () => elsewhere().length <= (await unknown());
    await until('everything at beta, or unknown', isSettled, { limitMs: limits.carrier.ackWaitMs * 2, everyMs: 100 });
    expect(elsewhere().length).toBeLessThan(5);
    expect([...otp, ...bulk].filter((nonce) => harness.smscPeers.countOf(nonce) > 1)).toEqual([]);
    // What the ingress sends past alpha never was in its queue: nothing of it is moved. A busy thread is left out of /metrics.
    const moved = () =>
      until('the moves are counted', () => harness.system.metric('heliograph_carrier_rerouted_total'));
    await until('the ingress knows', async () => {
      const before = await moved();
      const more: string[] = [];
      for (let n = 0; n < 5; n += 1) more.push(await send('17', 'otp'), await send('17', 'promotional'));
      await until('they are at beta', () => more.every((nonce) => at('beta', nonce)));
      return (await moved()) === before;
    });
  });
});
