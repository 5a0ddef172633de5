// An operator's work in the running system: a carrier is paused and resumed from the command line, also while the
// database is down and through kill -9; the audit log, /metrics and the doctor report it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { suspend } from '../support/processes.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';

let harness: SystemHarness;

beforeAll(async () => {
  harness = await openSystemHarness();
});
afterAll(() => harness?.stop());

const waiting = { everyMs: 100 };
const cli = async (...words: string[]) =>
  JSON.parse(await harness.system.cli(...words, '--json')) as Record<string, any>;
const submitted = () => harness.smscPeers.carriers.alpha.stats().submits.total;

async function send(count: number): Promise<void> {
  const messages = Array.from({ length: count }, (_, index) => ({
    to: `+88017${String(10_000_000 + index)}`,
    from: 'HELIOGRAPH',
    message: `operator ${index}`,
  }));
  expect((await harness.client.call('POST', '/v1/sms/batch', { messages })).json).toMatchObject({ accepted: count });
}

/** The value of one series of /metrics; undefined when it is not there. */
async function series(name: string, labels: Record<string, string>): Promise<number | undefined> {
  const text = await (await fetch(`${harness.system.adminUrl}/metrics`)).text();
  const found = [...text.matchAll(new RegExp(`^heliograph_${name}\\{([^}]*)\\} ([0-9.e+-]+)$`, 'gm'))].find(
    ([, given = '']) => Object.entries(labels).every(([label, value]) => given.includes(`${label}="${value}"`)),
  );
  return found === undefined ? undefined : Number(found[2]);
}
const reaches = (name: string, labels: Record<string, string>, fits: (value: number) => boolean) =>
  until(`${name} ${JSON.stringify(labels)}`, async () => fits((await series(name, labels)) ?? Number.NaN), waiting);

describe('an operator', () => {
  it('pauses a carrier, sees it everywhere, and resumes it after its processes were killed', async () => {
    await send(20);
    await until('they are submitted', () => submitted() === 20, waiting);
    await reaches(
      'receipt_lag_seconds_count',
      { carrier: 'alpha', category: 'transactional' },
      (value) => value === 20,
    );

    const paused = await cli('carriers', 'pause', 'alpha', '--reason', 'their maintenance');
    // In effect a moment later where no node answers in time, which the metrics below wait for.
    expect(paused).toMatchObject({ verb: 'pause', target: 'alpha' });
    await send(30);
    const alpha = { carrier: 'alpha' };
    await reaches('carrier_desired_state', alpha, (value) => value === 1);
    await reaches('carrier_health', alpha, (value) => value === 2);
    await reaches('carrier_oldest_waiting_seconds', { ...alpha, category: 'transactional' }, (value) => value > 1);
    await reaches('carrier_lane_depth', { ...alpha, category: 'transactional' }, (value) => value > 0);
    await reaches('bind_state', { ...alpha, bind: '1', state: 'bound' }, (value) => value === 1);
    await reaches('bind_desired_state', { ...alpha, bind: '2' }, (value) => value === 1);
    await reaches('carrier_window', alpha, (value) => value === 0);
    await reaches('carrier_contract_per_s', alpha, (value) => value === 5_000);
    await reaches('stream_messages', { stream: 'MT_TXN' }, (value) => value === 30);
    await reaches(
      'stream_waiting_messages',
      { ...alpha, category: 'transactional', shard: '0' },
      (value) => value >= 0,
    );
    await reaches('stream_fill_share', { stream: 'EVENTS' }, (value) => value >= 0 && value < 0.1);

    await harness.system.kill9('actors');
    const list = () => cli('carriers', 'list', 'alpha');
    await until('it is served again', async () => (await list())['data'][0].served_by === 1, waiting);
    expect(await list()).toMatchObject({
      data: [{ desired_state: 'paused', command: { reason: 'their maintenance', actor: 'operator' } }],
    });
    expect(submitted()).toBe(20);
    expect(await cli('carriers', 'resume', 'alpha')).toMatchObject({ verb: 'resume', target: 'alpha' });
    await until('they are submitted', () => submitted() === 50, waiting);
    await reaches('carrier_desired_state', alpha, (value) => value === 0);
    await reaches('carrier_window', alpha, (value) => value === 100);
  });

  it('gives commands without the database, and the audit log has them when that is back', async () => {
    // Stopped, not killed: a killed one is restarted at once.
    const postgres = await harness.system.pidOf('postgres');
    await suspend(postgres);
    const drained = await cli('carriers', 'drain', 'alpha', '--bind', 'alpha/2', '--reason', 'no database');
    process.kill(postgres, 'SIGCONT');
    expect(drained).toMatchObject({ verb: 'drain', target: 'alpha/2' });
    await until('it is unbound', () => harness.smscPeers.carriers.alpha.stats().binds.now === 1, waiting);
    await reaches('bind_state', { carrier: 'alpha', bind: '2', state: 'resting' }, (value) => value === 1);
    await cli('carriers', 'resume', 'alpha', '--bind', '2');
    const audit = async () =>
      (await cli('audit', '--target', 'alpha/2'))['data'] as { action: string; detail: object }[];
    await until('both are recorded', async () => (await audit()).length === 2, waiting);
    expect(await audit()).toMatchObject([
      { action: 'bind.resumed' },
      { action: 'bind.drained', detail: { reason: 'no database' } },
    ]);
    const lines = await harness.system.cli('audit', '--target', 'alpha');
    expect(lines).toMatch(/operator \(\S+@\S+\) {2}carrier\.paused {2}alpha {2}reason: their maintenance/);
  });

  it('is shown what there is when a name is wrong, and that a bind of a resumed carrier stays paused', async () => {
    const said = (...words: string[]) =>
      harness.system.cli(...words).then(
        () => '',
        (error: unknown) => (error as { stderr: string }).stderr,
      );
    expect(await said('carriers', 'pause', 'alfa')).toContain(
      'carrier_not_found: there is no carrier "alfa"; there are: alpha, beta, gamma, sandbox',
    );
    expect(await said('carriers', 'list', 'alfa')).toContain('carrier_not_found');
    expect(await said('carriers', 'drain', 'alpha', '--bind', '9')).toContain(
      'bind_not_found: alpha has the binds 1, 2',
    );
    expect(await said('carriers', 'drain', 'alpha', '--bind', 'beta/1')).toContain('--bind: found "beta/1"');
    await cli('carriers', 'pause', 'alpha', '--bind', '1');
    expect(await harness.system.cli('carriers', 'resume', 'alpha')).toContain(
      'Bind 1 stays paused by its own command: carriers resume alpha --bind 1',
    );
    expect(await harness.system.cli('carriers', 'resume', 'alpha', '--bind', '1')).toMatch(/^Resumed {2}alpha\/1 {2}/);
  });

  it('may give an API key the right to it, which no account has by itself', async () => {
    const account = await cli('accounts', 'create', '--name', 'Operations');
    const made = await cli(
      'keys',
      'create',
      '--account',
      account['id'],
      '--scopes',
      'carriers:read,carriers:manage,audit:read',
    );
    const authorization = { authorization: `Bearer ${made['key']}` };
    const pause = (headers?: Record<string, string>) =>
      harness.client.call('POST', '/v1/carriers/beta/pause', { reason: 'by key' }, headers);
    expect((await pause()).json).toMatchObject({ code: 'scope_missing' });
    await until('the key is known', async () => (await pause(authorization)).status === 200, waiting);
    await until('it is resumed', async () => {
      const { json } = await harness.client.call('POST', '/v1/carriers/beta/resume', {}, authorization);
      return json['in_effect'] === true;
    });
    const audit = async () =>
      (await harness.client.call('GET', '/v1/audit?action=carrier.paused&target=beta', undefined, authorization)).json[
        'data'
      ] as object[];
    await until('it is recorded', async () => (await audit()).length > 0, waiting);
    expect((await audit())[0]).toMatchObject({ actor: made['id'], from: '127.0.0.1', detail: { reason: 'by key' } });
    await expect(
      harness.system.cli('keys', 'create', '--account', account['id'], '--test', '--scopes', 'carriers:manage'),
    ).rejects.toThrow('a test key cannot have carriers:manage');
  });

  it('runs the doctor, which leaves the running binds alone', async () => {
    const before = harness.smscPeers.carriers.alpha.stats().binds;
    // A carrier that no node reports in time is a finding.
    const { checks, ok } = await until('all carriers are reported', () => cli('doctor').catch(() => null));
    const names = (checks as { check: string }[]).map(({ check }) => check);
    expect(names).toEqual(expect.arrayContaining(['alpha/1', 'alpha/2', 'beta/1', 'sandbox/1']));
    expect({ ok, bad: (checks as { ok: boolean }[]).filter((check) => !check.ok) }).toEqual({ ok: true, bad: [] });
    expect(JSON.stringify(checks)).toMatch(/nats-server \d+\.\d+\.\d+/);
    expect(harness.smscPeers.carriers.alpha.stats().binds.total).toBe(before.total);
  });
});
