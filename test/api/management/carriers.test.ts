// Operator commands and the audit log over real HTTP, on a real nats-server and PostgreSQL.
// test/actors/carrier/binds/commands.test.ts proves at the SMSC peer that a command stops traffic.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CarrierReport } from '../../../cluster/operator-commands/contract.ts';
import { answerForCarriers } from '../../../cluster/operator-commands/reports.ts';
import { commandIds, watchCommands } from '../../../cluster/operator-commands/watch-commands.ts';
import { accountScopes } from '../../../model/api-key.ts';
import { until } from '../../support/until.ts';
import { carrierWith } from '../../support/carrier-harness.ts';
import { type RunningApi, refusal, runApi } from './support/running-api.ts';

let api: RunningApi;
let tenant: string;
beforeAll(async () => {
  api = await runApi([carrierWith({ port: 1 }), carrierWith({ port: 1 }, { name: 'beta' })]);
  tenant = await api.newKey(api.accountId, true, accountScopes);
});
afterAll(() => api?.stop());

const from = { 'x-forwarded-for': '203.0.113.7' };
const command = (path: string, json: object = {}, headers = from) =>
  api.call('POST', `/v1/carriers/${path}`, { json, headers });

describe('a key without an operator scope', () => {
  it.each([
    ['GET', '/v1/carriers', 'carriers:read'],
    ['GET', '/v1/carriers/alpha', 'carriers:read'],
    ['POST', '/v1/carriers/alpha/pause', 'carriers:manage'],
    ['POST', '/v1/carriers/alpha/binds/1/resume', 'carriers:manage'],
    ['GET', '/v1/audit', 'audit:read'],
  ])('%s %s is refused', async (method, path, scope) => {
    const reply = await api.call(method, path, { key: tenant, ...(method === 'POST' ? { json: {} } : {}) });
    expect(refusal(reply).code).toBe('scope_missing');
    expect(reply.body.detail).toContain(scope);
  });

  it('cannot create one with it, not even when it has it itself', async () => {
    const reply = await api.call('POST', '/v1/api-keys', { json: { scopes: ['carriers:manage'] } });
    expect(refusal(reply)).toMatchObject({ status: 422, fields: ['scopes[0] invalid_field'] });
  });
});

describe('commands', () => {
  it('apply from then on, with their author, address and reason', async () => {
    const paused = await command('alpha/pause', { reason: 'maintenance of theirs' });
    expect(paused.body).toMatchObject({
      object: 'order',
      verb: 'pause',
      target: 'alpha',
      // No node serves the carrier here.
      in_effect: false,
      carrier: {
        name: 'alpha',
        desired_state: 'paused',
        state: null,
        served_by: 0,
        command: { from: '203.0.113.7', reason: 'maintenance of theirs' },
      },
    });
    const drained = await command('alpha/binds/2/drain');
    expect(drained.body).toMatchObject({
      target: 'alpha/2',
      carrier: {
        binds: [
          { bind: 1, desired_state: 'paused' },
          { bind: 2, desired_state: 'drained' },
        ],
      },
    });
    // Each field of a command is optional, so its body is too.
    const resumed = await api.call('POST', '/v1/carriers/alpha/resume', { headers: from });
    expect(resumed.body.carrier).toMatchObject({
      desired_state: 'running',
      command: null,
      binds: [{ desired_state: 'running' }, { desired_state: 'drained' }],
    });
    expect((await api.call('GET', '/v1/carriers/alpha')).body).toEqual(resumed.body.carrier);
    expect((await api.call('GET', '/v1/carriers')).body).toMatchObject({
      data: [{ name: 'alpha' }, { name: 'beta', desired_state: 'running' }],
      next_cursor: null,
    });

    const records = async () => (await api.call('GET', '/v1/audit?target=alpha')).body.data;
    await until('the audit has them', async () => (await records()).length === 3);
    expect(await records()).toMatchObject([
      { action: 'carrier.resumed', target: 'alpha' },
      { action: 'bind.drained', target: 'alpha/2' },
      {
        action: 'carrier.paused',
        from: '203.0.113.7',
        actor: expect.stringMatching(/^key_/),
        detail: { reason: 'maintenance of theirs' },
      },
    ]);
    expect((await api.call('GET', '/v1/audit?target=alpha%2F2')).body.data).toMatchObject([{ action: 'bind.drained' }]);
  });

  it('are in effect when every node that serves the carrier reports it', async () => {
    const watch = await watchCommands(api.bus);
    const report = (): CarrierReport => ({
      carrier: 'beta',
      standby: false,
      state: 'good',
      why: '',
      inFlight: 3,
      pace: { perS: 3.04, ofPerS: 25, slowedBy: 'ESME_RTHROTTLED' },
      recovering: { forMs: 1_500, goodInMs: 1_500 },
      binds: [{ bind: 1, type: 'receiver', state: 'waiting', reason: 'x', windowUsed: 0, window: 1, nextTryInMs: 900 }],
      commands: commandIds(watch.of('beta')),
    });
    const two = [
      answerForCarriers(api.bus, 'one', () => [report()]),
      answerForCarriers(api.bus, 'two', () => [report()]),
    ];
    expect((await command('beta/pause')).body).toMatchObject({
      in_effect: true,
      carrier: {
        served_by: 2,
        state: 'good',
        in_flight: 6,
        // Each node has a part of the contract.
        pace: { per_s: 6.1, of_per_s: 50, slowed_by: 'ESME_RTHROTTLED' },
        recovering: { for_s: 1, good_in_s: 2 },
        binds: [{ next_try_in_s: 1 }],
      },
    });
    const unresponsive = answerForCarriers(api.bus, 'three', () => [{ ...report(), commands: [] }]);
    expect((await command('beta/resume')).body).toMatchObject({
      in_effect: false,
      carrier: { desired_state: 'running', served_by: 3 },
    });
    for (const each of [...two, unresponsive]) each.unsubscribe();
    watch.stop();
  });

  it('with an idempotency key are given once', async () => {
    const headers = { ...from, 'idempotency-key': 'once' };
    const first = await command('beta/pause', {}, headers);
    const second = await command('beta/pause', {}, headers);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(second.body.id).toBe(first.body.id);
    await command('beta/resume');
  });

  it.each([
    ['gamma/pause', 'the carriers are: alpha, beta'],
    ['%00/pause', 'nothing of this account'],
    ['alpha/binds/3/pause', "the carrier's binds are: 1, 2"],
    ['alpha/binds/0/pause', "the carrier's binds are: 1, 2"],
    ['alpha/binds/x/drain', "the carrier's binds are: 1, 2"],
  ])('%s is not found, and the answer says what there is', async (path, detail) => {
    const reply = await command(path);
    expect(refusal(reply)).toMatchObject({ status: 404, code: 'not_found' });
    expect(reply.body.detail).toContain(detail);
  });

  it.each([
    [{ reason: 'x'.repeat(201) }, 'reason invalid_field'],
    [{ reason: 'a\u001b[31mred' }, 'reason invalid_field'],
    [{ why: 'x' }, 'why unknown_field'],
  ])('%j is refused', async (json, field) => {
    expect(refusal(await command('alpha/pause', json))).toMatchObject({ status: 422, fields: [field] });
  });

  it('of exactly two hundred characters of reason is accepted', async () => {
    expect((await command('alpha/resume', { reason: 'x'.repeat(200) })).status).toBe(200);
  });
});

describe('the audit log', () => {
  it('comes in pages, newest first, of everything that was changed', async () => {
    const first = await api.call('GET', '/v1/audit?limit=2&action=api_key.created');
    expect(first.body.data).toHaveLength(2);
    const rest = await api.call('GET', `/v1/audit?limit=100&action=api_key.created&cursor=${first.body.next_cursor}`);
    expect(rest.body).toMatchObject({ next_cursor: null });
    const keys = [...first.body.data, ...rest.body.data].map(({ target }: { target: string }) => target);
    expect(keys).toEqual([...new Set(keys)].sort().reverse());
    for (const cursor of ['x', 'cm93IDA', 'cm93IC0x']) {
      expect(refusal(await api.call('GET', `/v1/audit?cursor=${cursor}`)).fields).toEqual(['cursor invalid_field']);
    }
  });

  it('is down with the database, and commands are not', async () => {
    await api.postgres.kill9();
    expect(refusal(await api.call('GET', '/v1/audit')).code).toBe('control_plane_unavailable');
    expect((await command('alpha/pause', { reason: 'without a database' })).status).toBe(200);
    expect((await api.call('GET', '/v1/carriers/alpha')).body.command.reason).toBe('without a database');
    await api.postgres.restart();
    const newest = async () => {
      const reply = await api.call('GET', '/v1/audit?limit=1&target=alpha');
      return reply.status === 200 && reply.body.data[0];
    };
    await until('the audit has it', async () => (await newest())?.detail?.reason === 'without a database');
  });
});
