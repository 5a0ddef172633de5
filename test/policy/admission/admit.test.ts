// The gates of admission: their order, both sides of their limits, and that no input makes them throw.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { categories } from '../../../model/message.ts';
import { senderKindOf } from '../../../model/sender.ts';
import { countSegments } from '../../../model/text/segment-count.ts';
import { Evaluation } from '../../../policy/admission/evaluation.ts';
import { admission } from '../../../policy/admission/gates.ts';
import { principal, request, rules } from '../rules.ts';

const admit = admission(rules);
const codeOf = (...args: Parameters<typeof admit>) => {
  const result = admit(...args);
  return result.ok ? 'admitted' : result.code;
};

test('a good request is admitted with its encoding, segments, carrier and the reason for it', () => {
  const admitted = admit(principal(), request());
  expect(admitted).toMatchObject({ ok: true, encoding: 'gsm7', segments: 1 });
  expect(admitted.ok && admitted.route.planFor('sms_1')).toMatchObject({ carrier: 'alpha', trace: ['prefix 17'] });
});

test('the gates refuse in their order: with one fault less, the next gate refuses', () => {
  const senders = { senders: [] };
  const bad = { to: '+1', from: 'NOT MINE', message: '' };
  const steps = [
    [principal({ ...senders, scopes: [], status: 'suspended' }), request(bad), 'scope_missing'],
    [principal({ ...senders, status: 'suspended' }), request(bad), 'account_suspended'],
    [principal(senders), request(bad), 'invalid_recipient'],
    [principal(senders), request({ ...bad, to: '+14155550123' }), 'unsupported_destination'],
    [principal(senders), request({ ...bad, to: '+8801112345678' }), 'sender_not_registered'],
    [principal(), request({ ...bad, to: '+8801112345678', from: 'HELIO' }), 'message_empty'],
    [principal(), request({ to: '+8801112345678', message: 'আ', encoding: 'gsm7' }), 'encoding_mismatch'],
    [principal(), request({ to: '+8801112345678', message: 'x'.repeat(1531) }), 'message_too_long'],
    [principal(), request({ to: '+8801112345678' }), 'no_route'],
    [principal(), request(), 'admitted'],
  ] as const;
  expect(steps.map(([who, what]) => codeOf(who, what))).toEqual(steps.map(([, , code]) => code));
});

describe('the sender', () => {
  test.each(['A', 'ABCDEFGHIJK', 'My Shop', 'a.b-c_d&e', '123', '+8801712345678', '123456789012345', '1A'])(
    '%s has the shape of one',
    (from) => expect(senderKindOf(from)).not.toBeNull(),
  );
  test.each(['', 'ABCDEFGHIJKL', '12', '1234567890123456', ' A', 'A ', 'Ä', 'a@b', '...', '+', 'a\nb', '১২৩'])(
    '%j has not',
    (from) => expect(senderKindOf(from)).toBeNull(),
  );

  test('must be approved for a live key, in the case it was approved in, and for a test key only look like one', () => {
    expect(codeOf(principal(), request({ from: 'helio' }))).toBe('sender_not_registered');
    expect(codeOf(principal({ livemode: false }), request({ from: 'Anything' }))).toBe('admitted');
    expect(codeOf(principal({ livemode: false }), request({ from: 'ABCDEFGHIJKL' }))).toBe('invalid_field');
  });
});

describe('the text', () => {
  test.each([
    ['10 segments', 'x'.repeat(1530), 'admitted'],
    ['11 segments', 'x'.repeat(1531), 'message_too_long'],
    ['10 segments of extension characters', '€'.repeat(760), 'admitted'],
    ['11 segments of extension characters', '€'.repeat(766), 'message_too_long'],
    ['10 segments of UCS-2', 'আ'.repeat(670), 'admitted'],
    ['11 segments of UCS-2', 'আ'.repeat(671), 'message_too_long'],
    ['blanks only', ' \n\t', 'message_empty'],
    ['what nobody can see', '\u200b\u00a0\u3164\u2060\ufe0f', 'message_empty'],
    ['blanks and one dot', '\u200b .', 'admitted'],
    ['an emoji alone', '😀', 'admitted'],
    ['a Bengali letter behind a mark', '\ufeffক', 'admitted'],
    ['U+0000', 'a\u0000', 'invalid_field'],
    ['half a pair', 'a\ud83d', 'invalid_field'],
  ])('of %s', (_name, message, code) => expect(codeOf(principal(), request({ message }))).toBe(code));

  test('that does not fit GSM-7 is refused naming the character and its position', () => {
    const refused = admit(principal(), request({ message: 'abc😀', encoding: 'gsm7' }));
    expect(refused).toMatchObject({ ok: false, code: 'encoding_mismatch', field: 'message' });
    expect((refused as { detail: string }).detail).toContain('"😀" (U+1F600, position 3)');
  });
});

test('for every input, the answer is a refusal with a sentence, or a carrier that takes the category', () => {
  const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.constant('HELIO'));
  const numbers = fc.oneof(
    texts,
    fc.integer({ min: 0, max: 9_999_999_999 }).map((n) => `+880${String(n).padStart(10, '0')}`),
    fc.integer({ min: 0, max: 99_999_999 }).map((n) => `+88017${String(n).padStart(8, '0')}`),
  );
  fc.assert(
    fc.property(
      fc.record({
        to: numbers,
        from: texts,
        message: texts,
        category: fc.constantFrom(...categories),
        encoding: fc.constantFrom('auto' as const, 'gsm7' as const, 'ucs2' as const),
      }),
      fc.boolean(),
      (fields, livemode) => {
        const result = admit(principal({ livemode }), request(fields));
        if (!result.ok) return void expect(result.detail.length).toBeGreaterThan(10);
        const planned = result.route.planFor('sms_1');
        const carrier = rules.carriers.find((each) => each.name === planned.carrier);
        expect(carrier?.classes).toContain(fields.category);
        expect(planned.carrier === 'sandbox').toBe(!livemode);
        expect(fields.to).toMatch(/^\+880\d{10}$/);
        const counted = countSegments(fields.message, fields.encoding);
        expect(counted.ok && counted.segmentCount).toBe(result.segments);
        expect(result.segments).toBeLessThanOrEqual(10);
      },
    ),
    { numRuns: 2_000 },
  );
});

test('of several gates that hold a message the latest time counts, whatever their order', () => {
  fc.assert(
    fc.property(fc.array(fc.nat()), (times) => {
      const evaluation = new Evaluation(principal(), request(), () => ({ why: 'no route is asked for' }));
      for (const ms of times) evaluation.holdUntil(ms);
      expect(evaluation.notBeforeMs).toBe(times.length === 0 ? null : Math.max(...times));
    }),
  );
});
