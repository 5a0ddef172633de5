// The texts of refusals: they must be true of the request they refuse, and name what would be accepted.
import { describe, expect, test } from 'vitest';
import { parseListParameters } from '../../../api/http/read-sms.ts';
import { parseSmsRequest } from '../../../api/http/sms-request.ts';
import { unknownNames } from '../../../api/unknown-names.ts';
import { optOutGate } from '../../../policy/admission/recipient-gates.ts';
import { explanation } from '../../../policy/admission/explain.ts';
import { senderGate } from '../../../policy/admission/principal-gates.ts';
import { principal, request, rules } from '../../policy/rules.ts';

const good = { to: '+8801712345678', from: 'HELIO', message: 'x' };

function detailOf(body: object, field: string): string | undefined {
  const parsed = parseSmsRequest(Buffer.from(JSON.stringify(body)));
  return parsed.ok ? undefined : parsed.problem.errors.find((each) => each.field === field)?.detail;
}

describe('of a message', () => {
  test('without a text the other way to give one is named', () => {
    expect(detailOf({}, 'message')).toBe('is required, unless template_id names a template');
    expect(detailOf({}, 'to')).toBe('is required');
  });

  test.each(['2030-02-30T09:00:00Z', '2030-13-01T09:00:00Z', '2030-01-01T24:00:00+06:00', '2030-01-01T09:00:00+24:00'])(
    'send_at %s has the right form, and is refused as no moment there is',
    (moment) => {
      expect(detailOf({ ...good, send_at: moment }, 'send_at')).toBe(
        'there is no such moment: look at its month, day, hour and offset',
      );
    },
  );

  test('send_at in another form is answered with the right form', () => {
    expect(detailOf({ ...good, send_at: '2030-01-01' }, 'send_at')).toMatch(/^must be a time with its offset/);
    expect(detailOf({ ...good, send_at: 5 }, 'send_at')).toMatch(/^must be a time with its offset/);
  });

  test('what was found is named in English', () => {
    expect(detailOf({ ...good, to: {} }, 'to')).toMatch(/found an object$/);
    expect(detailOf({ ...good, to: [] }, 'to')).toMatch(/found an array$/);
    expect(detailOf({ ...good, to: 5 }, 'to')).toMatch(/found a number$/);
  });

  test('a sender with a blank at its end is answered where blanks are allowed', () => {
    const refusal = senderGate(principal(), request({ from: 'HELIO ' }));
    expect(refusal?.detail).toContain('blanks only between them');
  });

  test('an opt-out names its sender, perhaps with STOP', () => {
    const refusal = optOutGate({ has: () => true }, { to: good.to, from: 'HELIO', category: 'promotional' });
    expect(refusal?.detail).toContain('from HELIO');
    expect(refusal?.detail).toContain('STOP');
  });
});

describe('of names that are not known', () => {
  const errors = (body: object) => {
    const parsed = parseSmsRequest(Buffer.from(JSON.stringify(body)));
    return parsed.ok ? [] : parsed.problem.errors.map(({ field, detail }) => `${field}: ${detail}`);
  };
  const list = [
    'to, from, message, template_id, variables, category, client_reference, validity_seconds, encoding, transliterate,',
    'send_at, quiet_hours, track_clicks, callback_url, dry_run',
  ].join(' ');
  const isNot = 'is not a field of this request';

  test('each is answered with the known name that it is near to, and the first one with all of them', () => {
    expect(errors({ ...good, clientReference: 'a', colour: 'red', Mesage: 'x' })).toEqual([
      `clientReference: ${isNot}, did you mean client_reference? Known are ${list}`,
      `colour: ${isNot}`,
      `Mesage: ${isNot}, did you mean message?`,
    ]);
    expect(errors({ ...good, colour: 'red' })).toEqual([`colour: ${isNot}; known are ${list}`]);
  });

  test('a name is near when a third of its characters must change, and not when more must', () => {
    expect(unknownNames(['sendxx'], ['send_at'], isNot)[0]?.detail).toBe(`${isNot}; known is send_at`);
    expect(unknownNames(['send_x'], ['send_at'], isNot)[0]?.detail).toBe(
      `${isNot}, did you mean send_at? Known is send_at`,
    );
    expect(unknownNames(['x'.repeat(1_000)], ['send_at'], isNot)[0]).toEqual({
      field: 'x'.repeat(64),
      code: 'unknown_field',
      detail: `${isNot}; known is send_at`,
    });
  });
});

describe('of the list', () => {
  const detail = (query: string) => {
    const parsed = parseListParameters(query);
    return parsed.ok ? null : parsed.problem.errors[0]?.detail;
  };

  test('a misspelt parameter is answered with the one that it is near to', () => {
    expect(detail('limt=3')).toMatch(
      /^is not a parameter of this list, did you mean limit\? Known are limit, cursor, /,
    );
  });

  test('a day means its first moment in UTC, and the text says so', () => {
    expect(parseListParameters('created_after=2026-11-20')).toEqual({
      ok: true,
      question: { createdAfterMs: Date.UTC(2026, 10, 20) },
    });
    expect(detail('created_after=20.11.2026')).toBe(
      'must be a time with its offset such as 2026-01-31T09:00:00Z, or a day such as 2026-01-31 (from 00:00 UTC)',
    );
  });

  test.each(['2026-02-30', '2026-02-30T09:00:00Z', '2026-13-01', '2026-01-01T25:00Z'])('%s is no moment', (moment) => {
    expect(detail(`created_before=${moment}`)).toBe('there is no such moment: look at its month, day, hour and offset');
  });
});

test('without charging, credit is not checked', () => {
  const credit = (livemode: boolean) =>
    explanation(rules)(principal({ livemode }), request({}), 'sms_1').gates.find(({ gate }) => gate === 'credit');
  for (const livemode of [true, false]) {
    expect(credit(livemode)).toMatchObject({ verdict: 'not_asked', detail: 'nothing is charged in this version' });
  }
});

test('with charging, it is checked for a live message and not for a test one', () => {
  const explain = explanation(rules, undefined, {}, () => null);
  const credit = (livemode: boolean) =>
    explain(principal({ livemode }), request({}), 'sms_1').gates.find(({ gate }) => gate === 'credit');
  expect(credit(true)).toMatchObject({ verdict: 'passed' });
  expect(credit(false)).toMatchObject({ verdict: 'not_asked', detail: 'test messages are not charged' });
});
