// The simulator as a carrier: limits, receipts, ids, faults of receipts, and its HTTP server.
import { afterEach, describe, expect, test } from 'vitest';
import { encodeSegments } from '../../../model/text/octets.ts';
import { readAs } from '../../../model/carrier-message-id.ts';
import { epochUs, systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { commandStatus } from '../../../model/command-status.ts';
import { parseLatency } from '../../../smpp/simulator/latency.ts';
import type { SimulatorOptions } from '../../../smpp/simulator/options.ts';
import { type Simulator, startSimulator } from '../../../smpp/simulator/simulator.ts';
import { message } from '../messages.ts';
import { boundWitness, closeWitnesses, type Witness, witness } from '../support.ts';

const started: Simulator[] = [];

async function start(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const simulator = await startSimulator({ latency: parseLatency('fixed:5')!, ...options });
  started.push(simulator);
  return simulator;
}

afterEach(async () => {
  await closeWitnesses();
  await Promise.all(started.splice(0).map((simulator) => simulator.close()));
});

function submitAll(seen: Witness, count: number): void {
  for (let index = 0; index < count; index += 1) seen.session.submit(message(`text ${index}`), String(index));
}

const statuses = (seen: Witness) => [...seen.responses.values()].map((response) => response.status);

describe('the limit', () => {
  test('throttles the submit beyond it, over all sessions of the account', async () => {
    const smsc = await start({ accounts: [{ systemId: 'heliograph', password: 'sandbox', tps: 10 }] });
    const [one, other] = [
      await boundWitness(smsc.port, { windowPdusMax: 20 }),
      await boundWitness(smsc.port, { windowPdusMax: 20 }),
    ];
    submitAll(one, 6);
    submitAll(other, 5);
    await until('all answers', () => one.responses.size + other.responses.size === 11);
    const throttled = [...statuses(one), ...statuses(other)].filter((status) => status === 0x58);
    expect(throttled.length).toBe(1);
    expect(smsc.stats().submits).toMatchObject({ total: 11, accepted: 10, throttled: 1 });
    await until('a second to pass', () => smsc.stats().submits.lastPerS === 0);
    one.session.submit(message('later'), 'later');
    expect((await until('the answer', () => one.responses.get('later'))).status).toBe(0);
  });

  test('of binds answers ESME_RALYBND', async () => {
    const smsc = await start({ bindsMax: 1 });
    await boundWitness(smsc.port);
    const second = witness(smsc.port);
    const { cause } = await until('the refusal', () => second.closes[0]);
    expect(cause).toMatchObject({ kind: 'bind_refused', status: commandStatus.ESME_RALYBND });
  });
});

describe('receipts', () => {
  test.each(['text', 'tlv', 'both'] as const)('as %s are read', async (receipts) => {
    const smsc = await start({ receipts });
    const seen = await boundWitness(smsc.port);
    seen.session.submit(message('x', { destination: '8801712340001' }), 'x');
    const receipt = await until('the receipt', () => seen.receipts[0]);
    expect(receipt).toMatchObject({ state: 'undelivered', recipient: '8801712340001' });
    expect(Number(receipt.errorCode)).toBe(27);
    expect(receipt.carrierMessageId).toBe(seen.responses.get('x')?.carrierMessageId);
  });

  test.each([
    ['decimal', 'raw'],
    ['hex', 'raw'],
    ['resp-hex-receipt-decimal', 'hex'],
  ] as const)('with ids in %s match, also beyond 2^53', async (ids, reading) => {
    const smsc = await start({ ids, idsFrom: 2n ** 60n });
    const seen = await boundWitness(smsc.port);
    submitAll(seen, 3);
    await until('the receipts', () => seen.receipts.length === 3);
    const responded = [...seen.responses.values()].map((response) => response.carrierMessageId);
    const reported = seen.receipts.map((receipt) => readAs(receipt.carrierMessageId, reading));
    expect(new Set(reported)).toEqual(new Set(responded));
    expect(BigInt(ids === 'decimal' ? responded[0]! : `0x${responded[0]}`)).toBeGreaterThan(2n ** 60n);
  });

  test('are sent only when they were requested', async () => {
    const smsc = await start();
    const seen = await boundWitness(smsc.port);
    seen.session.submit(message('no', { registeredDelivery: 0 }), 'no');
    seen.session.submit(message('failures only', { registeredDelivery: 2 }), 'quiet');
    seen.session.submit(message('failed', { registeredDelivery: 2, destination: '8801712340003' }), 'failed');
    seen.session.submit(message('yes', { destination: '8801712349999' }), 'yes');
    await until('two receipts', () => seen.receipts.length === 2);
    expect(seen.receipts.map((receipt) => receipt.state).toSorted()).toEqual(['delivered', 'expired']);
    expect(smsc.stats().receipts.sent).toBe(2);
  });

  test('wait until a receiver is bound', async () => {
    const smsc = await start();
    const transmitter = await boundWitness(smsc.port, { type: 'transmitter' });
    submitAll(transmitter, 5);
    await until('the receipts to be due', () => smsc.stats().receipts.pending === 5);
    const receiver = await boundWitness(smsc.port, { type: 'receiver' });
    await until('the receipts', () => receiver.receipts.length === 5);
  });

  test('are spread over the account’s sessions, and never more than 200 unanswered on each', async () => {
    const smsc = await start();
    const [one, other] = [await boundWitness(smsc.port, { windowPdusMax: 500 }), await boundWitness(smsc.port)];
    one.answerWith = undefined;
    other.answerWith = undefined;
    submitAll(one, 450);
    await until('full windows', () => one.receipts.length === 200 && other.receipts.length === 200);
    await until('the rest to wait', () => smsc.stats().receipts.pending === 450);
    expect(one.receipts.length + other.receipts.length).toBe(400);
  });
});

describe('faults of receipts', () => {
  test('receipt-before-resp', async () => {
    const smsc = await start();
    const seen = await boundWitness(smsc.port);
    smsc.setFault('receipt-before-resp', { limit: 1 });
    seen.session.submit(message('x'), 'x');
    await until('both', () => seen.story.length === 2);
    expect(seen.story).toEqual(['receipt 8801712345678', 'response x']);
    expect(seen.receipts[0]?.carrierMessageId).toBe(seen.responses.get('x')?.carrierMessageId);
  });

  test('duplicate-receipt', async () => {
    const smsc = await start();
    const seen = await boundWitness(smsc.port);
    smsc.setFault('duplicate-receipt', { limit: 1 });
    seen.session.submit(message('x'), 'x');
    await until('both', () => seen.receipts.length === 2);
    expect(seen.receipts[0]).toEqual(seen.receipts[1]);
  });

  test('out-of-order-receipts, and the last one is not forgotten', async () => {
    const smsc = await start();
    const seen = await boundWitness(smsc.port);
    smsc.setFault('out-of-order-receipts');
    submitAll(seen, 3);
    await until('all', () => seen.receipts.length === 3);
    const order = seen.receipts.map((receipt) => {
      return [...seen.responses].find(([, response]) => response.carrierMessageId === receipt.carrierMessageId)?.[0];
    });
    expect(order).toEqual(['1', '0', '2']);
  });

  test('receipt-other-bind', async () => {
    const smsc = await start();
    const [one, other] = [await boundWitness(smsc.port), await boundWitness(smsc.port)];
    smsc.setFault('receipt-other-bind');
    submitAll(one, 4);
    await until('all', () => other.receipts.length === 4);
    expect(one.receipts).toEqual([]);
  });

  test('no-receipt', async () => {
    const smsc = await start();
    const seen = await boundWitness(smsc.port);
    smsc.setFault('no-receipt', { limit: 1 });
    submitAll(seen, 2);
    await until('one receipt', () => seen.receipts.length === 1);
    expect(seen.receipts[0]?.carrierMessageId).toBe(seen.responses.get('1')?.carrierMessageId);
  });
});

describe('the time since the intended send', () => {
  test('is recorded for submits and for acknowledged receipts, the latter being later', async () => {
    const smsc = await start({ latency: parseLatency('fixed:50')! });
    const seen = await boundWitness(smsc.port);
    const intended = epochUs(systemClock.monotonicMs());
    seen.session.submit(message(`hello #a@${Math.round(intended).toString(36)}#`), 'x');
    await until('the acknowledgement', () => smsc.stats().receipts.acked === 1);
    const { intendedToSubmit, intendedToReceiptAcked } = smsc.stats();
    expect([intendedToSubmit.count, intendedToReceiptAcked.count]).toEqual([1, 1]);
    expect(intendedToReceiptAcked.minMs).toBeGreaterThanOrEqual(50);
    expect(intendedToReceiptAcked.minMs).toBeGreaterThan(intendedToSubmit.minMs);
  });
});

describe('faults of answers', () => {
  test.each([
    ['queue-full', 'ESME_RMSGQFUL'],
    ['throttle', 'ESME_RTHROTTLED'],
    ['sys-err', 'ESME_RSYSERR'],
  ] as const)('%s answers %s, as often as requested', async (fault, status) => {
    const smsc = await start();
    const seen = await boundWitness(smsc.port);
    smsc.setFault(fault, { limit: 2 });
    submitAll(seen, 3);
    await until('all answers', () => seen.responses.size === 3);
    expect(statuses(seen)).toEqual([commandStatus[status], commandStatus[status], 0]);
    expect(smsc.stats().submits.byStatus).toEqual({ [status]: 2, ESME_ROK: 1 });
  });

  test('reject-part refuses that segment of a long message and no other', async () => {
    const smsc = await start({ faults: [{ name: 'reject-part', args: { arg: 2 } }] });
    const seen = await boundWitness(smsc.port);
    for (const [index, { octets, hasUdh }] of encodeSegments('a'.repeat(400), 'gsm7', 9).entries()) {
      seen.session.submit(message('', { octets, esmClass: hasUdh ? 0x40 : 0 }), String(index + 1));
    }
    seen.session.submit(message('short'), 'short');
    await until('all answers', () => seen.responses.size === 4);
    expect(statuses(seen)).toEqual([0, commandStatus.ESME_RSUBMITFAIL, 0, 0]);
  });
});

describe('the HTTP server', () => {
  const get = async (smsc: Simulator, path: string) =>
    (await fetch(`http://127.0.0.1:${smsc.statsPort}${path}`)).json();
  const send = (smsc: Simulator, method: string, path: string, body?: unknown) => {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    return fetch(`http://127.0.0.1:${smsc.statsPort}${path}`, init);
  };

  test('shows counters, messages and nonces', async () => {
    const smsc = await start();
    const seen = await boundWitness(smsc.port);
    for (const text of ['one #a1#', 'two #a2#', 'two #a2#'])
      seen.session.submit(message(text), text + seen.story.length);
    await until('all', () => smsc.stats().receipts.acked === 3);
    expect(await get(smsc, '/stats')).toMatchObject({
      submits: { total: 3, accepted: 3 },
      messages: 3,
      nonces: { distinct: 2, submits: 3, duplicated: 1 },
      receipts: { sent: 3, acked: 3, pending: 0 },
      process: { rssBytes: expect.any(Number) },
    });
    expect(await get(smsc, '/messages?limit=1')).toMatchObject({
      total: 3,
      data: [{ text: 'two #a2#', state: 'delivered' }],
    });
    expect(await get(smsc, '/messages?destination=1')).toEqual({ total: 0, data: [] });
    expect(await get(smsc, '/nonces?list=duplicated')).toEqual([{ nonce: 'a2', count: 2 }]);
    const binary = await fetch(`http://127.0.0.1:${smsc.statsPort}/nonces?format=binary`);
    expect((await binary.arrayBuffer()).byteLength).toBe(48);
    await send(smsc, 'POST', '/reset');
    expect(smsc.stats()).toMatchObject({ nonces: { distinct: 0 }, recorded: { kept: 0 } });
  });

  test('sets and clears faults, and refuses unknown ones', async () => {
    const smsc = await start();
    expect(await (await send(smsc, 'POST', '/fault', { name: 'throttle', limit: 3 })).json()).toEqual({
      faults: ['throttle'],
    });
    expect(await (await send(smsc, 'DELETE', '/fault')).json()).toEqual({ faults: [] });
    expect((await send(smsc, 'POST', '/fault', { name: 'flood' })).status).toBe(400);
    expect((await send(smsc, 'POST', '/fault', 'x'.repeat(20_000))).status).toBe(400);
    expect((await send(smsc, 'GET', '/nothing')).status).toBe(404);
  });

  test('with a token refuses every route to who does not have it', async () => {
    const smsc = await start({ token: 'a-token-of-this-test' });
    const url = `http://127.0.0.1:${smsc.statsPort}`;
    const routes = [
      ...['GET /stats', 'GET /messages', 'GET /binds', 'GET /nonces', 'GET /nothing'],
      ...['POST /fault', 'DELETE /fault', 'POST /mo', 'POST /reset'],
    ];
    for (const authorization of [undefined, 'Bearer a-token-of-this-tes', 'a-token-of-this-test', 'Bearer ']) {
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
      const codes = routes.map(async (route) => {
        const [method = '', path = ''] = route.split(' ');
        const body = method === 'POST' ? JSON.stringify({ name: 'throttle' }) : undefined;
        return (await fetch(`${url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) })).status;
      });
      expect(new Set(await Promise.all(codes))).toEqual(new Set([401]));
    }
    expect(smsc.stats().faults).toEqual([]);
    const mine = await fetch(`${url}/messages`, { headers: { authorization: 'Bearer a-token-of-this-test' } });
    expect([mine.status, await mine.json()]).toEqual([200, { data: [], total: 0 }]);
  });

  test('sends inbound messages', async () => {
    const smsc = await start();
    const seen = await boundWitness(smsc.port);
    expect((await send(smsc, 'POST', '/mo', { from: '+8801712345678', to: '16000', text: 'STOP' })).status).toBe(202);
    expect((await until('it', () => seen.inbound[0])).toString('latin1')).toBe('STOP');
    expect((await send(smsc, 'POST', '/mo', { from: 1 })).status).toBe(400);
  });
});
