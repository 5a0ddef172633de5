// The pure half of idempotency: what a request does that finds an entry, and that pages survive their encoding.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bodyPrinter } from '../../../../api/http/idempotency/body-print.ts';
import { decideIdempotent } from '../../../../api/http/idempotency/decide.ts';
import {
  type IdempotencyEntry,
  type Page,
  decodePage,
  encodePage,
  keyPlace,
  printOctets,
} from '../../../../api/http/idempotency/entry.ts';
import { limits } from '../../../../platform/limits.ts';

const leaseMs = 10_000;
const bodyPrint = Buffer.alloc(printOctets, 1);
const running = (leaseUntilMs = 20_000): IdempotencyEntry => ({
  bodyPrint,
  createdAtMs: 10_000,
  state: 'running',
  leaseUntilMs,
});
const done: IdempotencyEntry = { bodyPrint, createdAtMs: 10_000, state: 'done', answer: Buffer.of(1) };
const ask = (nowMs: number, isSameBody = true) => ({ isSameBody, nowMs, leaseMs });

test.each([
  ['another body is another request, running', running(), ask(10_000, false), 'reused'],
  ['another body is another request, done', done, ask(10_000, false), 'reused'],
  ['done is replayed, also long after', done, ask(9e12), 'replay'],
  ['a live lease is waited for', running(), ask(19_999), 'in_progress'],
  ['a lease that ends now is taken over', running(), ask(20_000), 'takeover'],
  ['a whole lease left is a live one', running(), ask(10_000), 'in_progress'],
  ['more than a whole lease left: a clock was set back', running(), ask(9_999), 'takeover'],
])('%s', (_name, found, asking, decision) => {
  expect(decideIdempotent(found, asking)).toBe(decision);
});

test('a done entry is never worked on again, whatever the clocks say', () => {
  fc.assert(
    fc.property(fc.integer(), fc.boolean(), (nowMs, isSameBody) => {
      expect(decideIdempotent(done, ask(nowMs, isSameBody))).toBe(isSameBody ? 'replay' : 'reused');
    }),
  );
});

const octets = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length, size: 'max' }).map((each) => Buffer.from(each));
const entry = fc.record({ bodyPrint: octets(printOctets), createdAtMs: fc.nat({ max: 2 ** 48 - 1 }) }).chain(
  (shared): fc.Arbitrary<IdempotencyEntry> =>
    fc.oneof(
      fc.nat({ max: 2 ** 48 - 1 }).map((leaseUntilMs) => ({ ...shared, state: 'running' as const, leaseUntilMs })),
      fc.constant({ ...shared, state: 'done' as const, answer: 'apart' as const }),
      fc
        .uint8Array({ maxLength: limits.idempotency.answerOctetsOnPage, size: 'max' })
        .map((answer) => ({ ...shared, state: 'done' as const, answer: Buffer.from(answer) })),
    ),
);
const page = fc
  .array(fc.tuple(octets(16), entry, fc.integer({ min: 1, max: 2 ** 32 - 1 })), { maxLength: 60, size: 'max' })
  .map((all): Page => new Map(all.map(([key, each, stamp]) => [key.toString('latin1'), { entry: each, stamp }])));

test('a page reads back as it was written', () => {
  fc.assert(fc.property(page, (each) => void expect(decodePage(encodePage(each))).toEqual(each)));
});

test('a page that is cut off anywhere but between entries is refused', () => {
  fc.assert(
    fc.property(page, fc.nat(), (each, at) => {
      const whole = encodePage(each);
      const cut = whole.subarray(0, at % whole.length);
      try {
        // Every entry of what is left must be a whole one of the page.
        for (const [key, stamped] of decodePage(cut)) expect(each.get(key)).toEqual(stamped);
        expect(encodePage(decodePage(cut)).equals(cut)).toBe(true);
      } catch (error) {
        expect(String(error)).toMatch(/cut off|unknown version|out of range|outside buffer bounds/i);
      }
    }),
  );
});

test('octets that are no page are refused', () => {
  for (const each of [Buffer.of(), Buffer.of(1), Buffer.from('garbage'), Buffer.of(2, 1)]) {
    expect(() => decodePage(each)).toThrow();
  }
});

test('an entry of one message takes some fifty octets', () => {
  const answer = Buffer.alloc(10);
  const one: Page = new Map([['k'.repeat(16), { stamp: 1, entry: { ...done, answer } as IdempotencyEntry }]]);
  expect(encodePage(one).length).toBeLessThanOrEqual(limits.idempotency.octetsPerKey);
});

test('every part of a key counts, and keys spread over the pages', () => {
  const places = [
    keyPlace('a', true, 'POST /v1/sms', 'k'),
    keyPlace('b', true, 'POST /v1/sms', 'k'),
    keyPlace('a', false, 'POST /v1/sms', 'k'),
    keyPlace('a', true, 'POST /v1/otp', 'k'),
    keyPlace('a', true, 'POST /v1/sms', 'K'),
  ];
  expect(new Set(places.map(({ hash }) => hash)).size).toBe(places.length);
  for (const { hash, page: name, answer } of places) {
    expect(hash).toHaveLength(16);
    expect(name).toMatch(/^p\.[0-9a-z]{1,4}$/);
    expect(answer).toMatch(/^a\.[\w-]{22}$/);
  }
  const pages = new Set(Array.from({ length: 10_000 }, (_, n) => keyPlace('a', true, 'x', String(n)).page));
  // 10,000 keys over 2^19 pages: some 95 share one.
  expect(pages.size).toBeGreaterThan(9_800);
});

test('a body has the same fingerprint under one key only, and one under each key that was replaced', () => {
  const [former, current] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const body = Buffer.from('{"message":"Your code is 482913"}');
  const [before] = bodyPrinter([former])(body);
  const after = bodyPrinter([current, former])(body);
  expect(after).toHaveLength(2);
  expect(after[0].equals(before)).toBe(false);
  expect(after[1]?.equals(before)).toBe(true);
  expect(bodyPrinter([current])(Buffer.from('{}'))[0].equals(after[0])).toBe(false);
});
