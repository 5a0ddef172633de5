// The pure half of idempotency: what a request does that finds an entry, and that pages survive their encoding.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { acceptedAgain, keptOfAccepted, type AcceptedFacts, acceptedBody } from '../../../api/http/sms-answer.ts';
import { ArchiveReader, ArchivedKeys } from '../../../acceptance/idempotency/archived-keys.ts';
import { bodyPrinter, keyPlaces } from '../../../acceptance/idempotency/key-place.ts';
import { decideIdempotent } from '../../../acceptance/idempotency/requests.ts';
import {
  type IdempotencyEntry,
  type Page,
  type StampedEntry,
  archivedPeriods,
  changedPage,
  emptyPage,
  doneStamp,
  entriesOf,
  findEntry,
  hasEntries,
  periodOfPage,
  printOctets,
  readPage,
  timesBeginMs,
  turnedPage,
} from '../../../acceptance/idempotency/entry.ts';
import type { MessageId } from '../../../model/ids.ts';
import { limits } from '../../../platform/limits.ts';
import type { SmsRequest } from '../../../policy/contract.ts';

const newPage = (entries: readonly (readonly [own: number, StampedEntry])[]) =>
  entries.reduce<Page>((page, [own, entry]) => changedPage(page, own, entry, 0), emptyPage);

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

test('a done entry is never processed again, whatever the clocks say', () => {
  fc.assert(
    fc.property(fc.integer(), fc.boolean(), (nowMs, isSameBody) => {
      expect(decideIdempotent(done, ask(nowMs, isSameBody))).toBe(isSameBody ? 'replay' : 'reused');
    }),
  );
});

const octets = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length, size: 'max' }).map((each) => Buffer.from(each));
const time = fc.nat({ max: 2 ** 40 - 1 }).map((ms) => timesBeginMs + ms);
const stamped = fc.record({ bodyPrint: octets(printOctets), createdAtMs: time }).chain(
  (shared): fc.Arbitrary<StampedEntry> =>
    fc.oneof(
      fc.tuple(time, fc.integer({ min: 1, max: doneStamp - 1 })).map(([leaseUntilMs, stamp]) => ({
        entry: { ...shared, state: 'running' as const, leaseUntilMs },
        stamp,
      })),
      fc
        .oneof(
          fc.constant('apart' as const),
          fc
            .uint8Array({ maxLength: limits.idempotency.answerOctetsOnPage, size: 'max' })
            .map((each) => Buffer.from(each)),
        )
        .map((answer) => ({ entry: { ...shared, state: 'done' as const, answer }, stamp: doneStamp })),
    ),
);
const own = fc.nat({ max: 2 ** 48 - 1 });
const entries = fc.uniqueArray(fc.tuple(own, stamped), { selector: ([each]) => each, maxLength: 60, size: 'max' });

test('a page decodes to what was encoded, and each of its keys is found', () => {
  fc.assert(
    fc.property(entries, own, (all, other) => {
      const page = readPage(newPage(all));
      expect([...entriesOf(page)]).toEqual(all);
      for (const [each, entry] of all) expect(findEntry(page, each)).toEqual(entry);
      expect(findEntry(page, other)).toEqual(all.find(([each]) => each === other)?.[1] ?? null);
    }),
  );
});

test('a change of one key keeps every other one that has not expired', () => {
  const change = fc.tuple(own, fc.option(stamped), fc.nat());
  fc.assert(
    fc.property(entries, change, time, (all, [other, next, nth], sinceMs) => {
      const key = all.length > 0 && nth % 2 === 0 ? (all[nth % all.length]?.[0] ?? other) : other;
      const changed = readPage(changedPage(newPage(all), key, next, sinceMs));
      const others = all.filter(([each, { entry }]) => each !== key && entry.createdAtMs >= sinceMs);
      expect([...entriesOf(changed)]).toEqual(next === null ? others : [...others, [key, next]]);
    }),
  );
});

test('a page names its archived periods, up to the 32 before, however it turned', () => {
  const turn = fc.tuple(fc.integer({ min: 1, max: 40 }), fc.boolean());
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 50 }), stamped, (turns, entry) => {
      let page = newPage([[1, entry]]);
      const archived: number[] = [];
      for (const [by, isArchived] of turns) {
        if (isArchived) archived.unshift(periodOfPage(page));
        page = readPage(turnedPage(page, periodOfPage(page) + by, isArchived));
        expect(hasEntries(page)).toBe(false);
        page = changedPage(page, 1, entry, 0);
      }
      expect(archivedPeriods(page)).toEqual(archived.filter((each) => each >= periodOfPage(page) - 32));
    }),
  );
});

test('the state of an archive is known when its page names it, and no other key is reported as archived', () => {
  const known = new ArchivedKeys();
  const reader = new ArchiveReader(known);
  const pageWith = (...owns: number[]) =>
    newPage(owns.map((each) => [each, { entry: { ...done, createdAtMs: timesBeginMs }, stamp: doneStamp }] as const));
  reader.archive('a', 7, pageWith(1));
  expect(known.has(7, 'a', 2)).toBe('perhaps');
  reader.archive('a', 7, pageWith(1, 2));
  reader.page('a', 8);
  expect([1, 2, 3].map((own) => known.has(7, 'a', own))).toEqual(['perhaps', 'perhaps', 'no']);
  reader.archive('a', 8, pageWith());
  expect(known.has(8, 'a', 1)).toBe('perhaps');
  reader.archive('b', 7, pageWith(1));
  expect(known.has(7, 'b', 2)).toBe('perhaps');
  known.forgetBefore(8);
  expect(known.has(7, 'a', 3)).toBe('perhaps');
});

test('a page truncated anywhere but between entries is refused', () => {
  fc.assert(
    fc.property(entries, fc.nat(), (all, at) => {
      const whole = newPage(all);
      const cut = whole.subarray(0, at % whole.length);
      try {
        const found = [...entriesOf(readPage(cut))];
        expect(found).toEqual(all.slice(0, found.length));
        expect(newPage(found).equals(cut)).toBe(true);
      } catch (error) {
        expect(String(error)).toMatch(/cut off|has version/i);
      }
    }),
  );
});

test('octets that are no page of this version are refused as such', () => {
  for (const each of [Buffer.of(), Buffer.of(1), Buffer.from('garbage'), Buffer.of(2, 1)]) {
    expect(() => readPage(each)).toThrow(/has version .* reads version/);
  }
  expect(() => readPage(Buffer.concat([newPage([]), Buffer.alloc(16), Buffer.of(200)]))).toThrow(/unknown tag/);
});

test.each([
  ['gsm7', null, 1, null, 18],
  ['gsm7', null, 1, 0, 19],
  ['ucs2', { character: 'আ', index: 0 }, 3, null, 21],
  ['ucs2', { character: '\u{1f600}', index: 669 }, 10, limits.links.perMessageMax, 24],
] as const)('an entry of a %s message takes little, and its 202 is made again', (...of) => {
  const [encoding, ucs2Because, segments, links, most] = of;
  const text = { ucs2Because, links };
  const createdAtMs = Date.UTC(2026, 0);
  fc.assert(
    fc.property(
      fc.integer({ min: -5_000, max: 40_000 }),
      fc.option(fc.nat({ max: 36 * 86_400_000 })),
      (laterMs, dueMs) => {
        const request = {
          ...{ to: '+8801712345678', from: 'HELIO', category: 'otp', clientReference: null },
          trackClicks: links !== null,
        } as SmsRequest;
        const facts = {
          messageId: 'sms_01' as MessageId,
          recipient: request.to,
          sender: request.from,
          category: request.category,
          encoding,
          segments,
          livemode: true,
          clientReference: null,
          acceptedAtMs: createdAtMs + laterMs,
          scheduledAtMs: dueMs === null ? null : createdAtMs + dueMs,
        } as AcceptedFacts;
        const kept = keptOfAccepted(facts, text, createdAtMs);
        const again = acceptedAgain(kept, { request, livemode: true, messageId: facts.messageId, createdAtMs });
        expect(again).toBe(acceptedBody(facts, text));
        expect(kept.length).toBeLessThanOrEqual(limits.idempotency.answerOctetsOnPage);
        if (laterMs !== 0 || dueMs !== null) return;
        const entry = { bodyPrint, createdAtMs, state: 'done', answer: kept } as const;
        expect(newPage([[1, { entry, stamp: doneStamp }]]).length - newPage([]).length).toBeLessThanOrEqual(most);
      },
    ),
    { examples: [[0, null]] },
  );
});

const keyPlace = keyPlaces(Buffer.alloc(32, 1));

test('every part of a key and the secret count, and keys spread over the pages', () => {
  const places = [
    keyPlace('a', true, 'POST /v1/sms', 'k'),
    keyPlace('b', true, 'POST /v1/sms', 'k'),
    keyPlace('a', false, 'POST /v1/sms', 'k'),
    keyPlace('a', true, 'POST /v1/otp', 'k'),
    keyPlace('a', true, 'POST /v1/sms', 'K'),
    keyPlaces(Buffer.alloc(32, 2))('a', true, 'POST /v1/sms', 'k'),
  ];
  expect(new Set(places.map(({ hash }) => hash)).size).toBe(places.length);
  for (const { hash, page: name, answer } of places) {
    expect(hash).toHaveLength(16);
    expect(name).toMatch(/^[0-9a-z]{1,3}$/);
    expect(answer).toMatch(/^a\.[\w-]{22}$/);
  }
  const pages = new Set(Array.from({ length: 10_000 }, (_, n) => keyPlace('a', true, 'x', String(n)).page));
  // 10,000 keys over 2^14 pages: some 7,480 have at least one.
  expect(pages.size).toBeGreaterThan(7_300);
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
