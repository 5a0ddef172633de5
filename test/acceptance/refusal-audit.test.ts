// How much of a flood of refusals is recorded: whole batches, then so many a second, for each account.
import { expect, test } from 'vitest';
import { RefusalAudit } from '../../acceptance/refusal-audit.ts';
import type { Principal } from '../../acceptance/principal.ts';
import type { EventWriter } from '../../cluster/bus/event-writer.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { limits } from '../../platform/limits.ts';
import type { Refusal } from '../../policy/contract.ts';
import { request } from '../policy/rules.ts';
import { ManualClock } from '../support/manual-clock.ts';

const { refusalsPerAccountBurst, refusalsPerAccountPerSecond, refusalsBurst, accountsMax } = limits.audit;
const refusal: Refusal = { ok: false, code: 'no_route', field: 'to', detail: '' };

function audit() {
  const clock = new ManualClock();
  const events: DeliveryEvent[] = [];
  const writer = {
    hasCapacity: true,
    write: (event: DeliveryEvent) => void events.push(event),
  } as unknown as EventWriter;
  const refusals = new RefusalAudit(writer, clock);
  const record = (accountId: string, count: number, what: Refusal = refusal) => {
    const before = events.length;
    const principal = { account: { accountId }, id: 'key_1', livemode: true } as unknown as Principal;
    for (let at = 0; at < count; at += 1) refusals.record(principal, request(), what);
    return events.length - before;
  };
  return { clock, events, record };
}

test('an account in a flood gets the burst, then so many a second; another account is not affected', () => {
  const { clock, record } = audit();
  expect(record('a', refusalsPerAccountBurst * 2)).toBe(refusalsPerAccountBurst);
  expect(record('b', 10)).toBe(10);
  clock.advance(1_000);
  expect(record('a', 1_000)).toBe(refusalsPerAccountPerSecond);
});

test('many accounts in a flood share the record rate of a thread', () => {
  const { record } = audit();
  let recorded = 0;
  for (let at = 0; at < 10; at += 1) recorded += record(`a${at}`, refusalsPerAccountBurst);
  expect(recorded).toBe(refusalsBurst);
});

test('accounts without refusals free their places for others', () => {
  const { clock, record } = audit();
  for (let at = 0; at < accountsMax; at += 1) {
    if (at % 100 === 0) clock.advance(1_000);
    record(`a${at}`, 1);
  }
  clock.advance(1_000);
  expect(record('one more', 1)).toBe(1);
});

test('the record names the version of the registry, and the field that was wrong', () => {
  const { events, record } = audit();
  record('a', 1, { ...refusal, code: 'recipient_do_not_disturb', registry: '12-3fa94c01' });
  record('a', 1, { ...refusal, code: 'invalid_field', field: 'send_at' });
  record('a', 1);
  const errors = events.map(({ error }) => error);
  expect(errors).toEqual(['recipient_do_not_disturb:12-3fa94c01', 'invalid_field:send_at', 'no_route']);
});
