// The rule for many numbers from one address or device.
import { beforeEach, describe, expect, it } from 'vitest';
import { ask, begin, numberOf, send, wait } from './guard-on-a-clock.ts';

const ip = '192.0.2.1';

beforeEach(() => begin());

describe('clients', () => {
  it('are challenged from 200 numbers an hour, those of another account counted apart', () => {
    for (let at = 0; at < 199; at += 1) send(numberOf(at, at), { ip });
    expect(ask(numberOf(300, 1), { ip }).refusal).toBeNull();
    send(numberOf(199, 1), { ip });
    expect(ask(numberOf(300, 1), { ip }).refusal).toMatchObject({
      rule: 'clients',
      action: 'challenge',
      scope: `ip ${ip}`,
    });
    expect(ask(numberOf(300, 1), { ip, challengePassed: true }).refusal).toBeNull();
    expect(ask(numberOf(300, 1), { ip: '192.0.2.2' }).refusal).toBeNull();
    expect(ask(numberOf(300, 1), { ip, accountId: 'b' }).refusal).toBeNull();
  });
});

describe('the hour of a client', () => {
  const sendMany = (count: number, from: number) => {
    for (let at = from; at < from + count; at += 1) send(numberOf(at, at), { ip });
  };

  it('is that of each number: no more than 200 in any hour', () => {
    sendMany(1, 0);
    wait(3_540_000);
    sendMany(199, 1);
    expect(ask(numberOf(900, 1), { ip }).refusal?.retryAfterMs).toBe(60_000);
    wait(60_000);
    expect(ask(numberOf(900, 1), { ip }).refusal).toBeNull();
    sendMany(1, 200);
    expect(ask(numberOf(900, 1), { ip }).refusal?.retryAfterMs).toBe(3_540_000);
    wait(3_540_000);
    expect(ask(numberOf(900, 1), { ip }).refusal).toBeNull();
  });

  it('begins again when its number asks again', () => {
    sendMany(200, 0);
    wait(3_599_000);
    sendMany(1, 0);
    expect(ask(numberOf(900, 1), { ip }).refusal?.retryAfterMs).toBe(1_000);
    wait(1_000);
    sendMany(199, 200);
    expect(ask(numberOf(900, 1), { ip }).refusal?.retryAfterMs).toBe(3_599_000);
  });
});
