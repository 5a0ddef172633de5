// The pure half of idempotency: what a request does that finds a record, and that records survive their encoding.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decideIdempotent } from '../../../../api/http/idempotency/decide.ts';
import {
  type IdempotencyRecord,
  decodeRecord,
  encodeRecord,
  recordKey,
} from '../../../../api/http/idempotency/record.ts';
import { newMessageId } from '../../../../model/ids.ts';

const leaseMs = 10_000;
const record = (over: Partial<IdempotencyRecord> = {}): IdempotencyRecord => ({
  bodyHash: 'same',
  messageId: newMessageId(1_000),
  state: 'running',
  owner: 'first',
  leaseUntilMs: 20_000,
  createdAtMs: 10_000,
  answer: '',
  ...over,
});
const ask = (nowMs: number, over = {}) => ({ bodyHash: 'same', owner: 'second', nowMs, leaseMs, ...over });

test.each([
  ['another body is another request, running', record(), ask(10_000, { bodyHash: 'other' }), 'reused'],
  ['another body is another request, done', record({ state: 'done' }), ask(10_000, { bodyHash: 'other' }), 'reused'],
  ['done is replayed, also long after', record({ state: 'done' }), ask(9e12), 'replay'],
  ['a live lease is waited for', record(), ask(19_999), 'in_progress'],
  ['a lease that ends now is taken over', record(), ask(20_000), 'takeover'],
  ['a whole lease left is a live one', record(), ask(10_000), 'in_progress'],
  ['more than a whole lease left: a clock was set back', record(), ask(9_999), 'takeover'],
  ['an own write that landed unheard', record({ owner: 'second' }), ask(15_000), 'mine'],
  ['a lease given back', record({ leaseUntilMs: 0 }), ask(10_001), 'takeover'],
])('%s', (_name, found, asking, decision) => {
  expect(decideIdempotent(found, asking)).toBe(decision);
});

test('a done record is never worked on again, whatever the clocks say', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer(), fc.boolean(), fc.string(), (nowMs, leaseUntilMs, sameBody, owner) => {
      const asking = ask(nowMs, { owner, bodyHash: sameBody ? 'same' : 'other' });
      const decision = decideIdempotent(record({ state: 'done', leaseUntilMs }), asking);
      expect(decision).toBe(sameBody ? 'replay' : 'reused');
    }),
  );
});

test('a record reads back as it was written', () => {
  fc.assert(
    fc.property(
      fc.record({
        bodyHash: fc.string(),
        messageId: fc.nat().map((ms) => newMessageId(ms)),
        state: fc.constantFrom('running' as const, 'done' as const),
        owner: fc.string(),
        leaseUntilMs: fc.nat({ max: 2 ** 48 }),
        createdAtMs: fc.nat({ max: 2 ** 48 }),
        answer: fc.string({ unit: 'grapheme' }),
      }),
      (each) => void expect(decodeRecord(encodeRecord(each))).toEqual(each),
    ),
  );
});

test('octets that are no record are refused', () => {
  for (const octets of [Buffer.of(), Buffer.of(0x91, 9), Buffer.from('garbage'), Buffer.of(0x92, 1, 0xa0)]) {
    expect(() => decodeRecord(octets)).toThrow();
  }
});

test('every part of a record key counts', () => {
  const keys = [
    recordKey('a', true, 'POST /v1/sms', 'k'),
    recordKey('b', true, 'POST /v1/sms', 'k'),
    recordKey('a', false, 'POST /v1/sms', 'k'),
    recordKey('a', true, 'POST /v1/otp', 'k'),
    recordKey('a', true, 'POST /v1/sms', 'K'),
  ];
  expect(new Set(keys).size).toBe(keys.length);
  for (const key of keys) expect(key).toMatch(/^[A-Za-z0-9_-]{43}$/);
});
