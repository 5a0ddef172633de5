// Which brands may stand in the text of a one-time password: names of companies pass, and nothing that leads somewhere.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { brandProblem } from '../../model/brand-name.ts';

describe('a name', () => {
  test.each([
    ...['7-Eleven', '3M', 'A&W', 'Yahoo!', 'Dr. Martens', 'Café', 'bKash', '24/7 Shop', 'O2', 'Acme Ltd.', 'Route 66'],
    ...[
      '1.5 Litre Co',
      'A.B.',
      'No. 1',
      'No.1',
      'Acme Co.',
      'St. John & Sons',
      'P.F. Chang',
      "McDonald's",
      'H&M',
      'C++',
    ],
    ...['AC/DC', 'Disney+', 'Canal+ 4', 'Toys "R" Us', 'Shop (Dhaka)', 'Studio 54', 'Radio 99.9 FM', 'Forever 21'],
    ...['24/7/365 Care', 'Acme: Pay', '16:9 Films', 'Coffee @ Work', '@home', '#1', 'Boeing 747-400', 'v2.0.1', '1800'],
    ...[
      'ব্র্যাক ব্যাংক',
      'র\u200d্যাব',
      'দারাজ ২৪',
      '৫০০.৫০ টাকা',
      'ന\u0d4d\u200d',
      'می\u200cخواهم',
      'Ünïcode',
      'Яндекс',
      '淘宝',
      'עברית',
    ],
    ...['x', '7', 'Acme\u00a0Bank', '½ Price', 'Acme™', 'Shop 🚀'],
  ])('is taken: %s', (brand) => {
    expect(brandProblem(brand)).toBeNull();
  });

  test('of letters of any script is taken, with blanks, an ampersand or a hyphen between its words', () => {
    const word = fc.stringMatching(/^\p{L}{1,8}$/u).filter((text) => !/\p{Default_Ignorable_Code_Point}/u.test(text));
    fc.assert(
      fc.property(
        word,
        fc.constantFrom(' ', ' & ', '-', "'"),
        word,
        fc.constantFrom('', '!', '.', ' 24', ' 1.5'),
        (one, between, other, end) => {
          expect([one, other, brandProblem(`${one}${between}${other}${end}`)]).toEqual([one, other, null]);
        },
      ),
    );
  });
});

describe('what leads somewhere', () => {
  test.each([
    ...['185.1.2.3/x', '185.1.2.3', '10.0.0.1', 'Pay 185.001.002.003', 'localhost:8080', 'evil.com', 'www.evil.com'],
    ...[
      'https://evil.example',
      'Bank bit.ly/x',
      'Acme。com',
      'evil\uff0ecom',
      'evil%2ecom',
      'http://3232235777',
      'http://a',
    ],
    ...[
      'evil .com/x',
      '.com/x',
      'evil\u00a0.com',
      'evil ..com',
      'a@b',
      'me@evil.com',
      'a＠b',
      'mailto:a@b',
      'mailto:a',
      'sms:bob',
    ],
    ...[
      'tel:01712345678',
      'tel:16247',
      'tel：999',
      'javascript:x',
      'intent://x',
      'whatsapp://send',
      '2001:db8::7',
      'evil.рф',
    ],
  ])('is refused as a link: %s', (brand) => {
    expect(brandProblem(brand)).toContain('without a link');
  });

  test.each([
    ...['call +8801712345678', '01712345678', '+880 1712-345678', '017 1234 5678', '(017) 123-456', '0171/2345678'],
    ...[
      '16247',
      'call 16247',
      '০১৭১২৩৪৫৬৭৮',
      '①②③④⑤',
      '１６２４７',
      '0\u20e31\u20e37\u20e31\u20e32\u20e3',
      '017*12*34',
      '017\u00a012\u201334',
    ],
  ])('is refused as a telephone number: %s', (brand) => {
    expect(brandProblem(brand)).toContain('without a telephone number');
  });

  test('an address is refused wherever it stands', () => {
    const octet = fc.integer({ min: 0, max: 255 });
    const before = fc.constantFrom('', ' ', 'pay ', '(', '"', ': ');
    const after = fc.constantFrom('', ' ', '/x', ':80', '.', ')', ' code');
    fc.assert(
      fc.property(fc.tuple(octet, octet, octet, octet), before, after, (octets, head, tail) => {
        expect(brandProblem(`${head}${octets.join('.')}${tail}`)).not.toBeNull();
      }),
    );
  });

  test('a telephone number is refused however it is separated', () => {
    const separator = fc.constantFrom('', ' ', '-', '.', '/', ') (', '\u2013', '_', ',');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), separator), { minLength: 7, maxLength: 15 }),
        (digits) => {
          expect(brandProblem(`call +${digits.map(([digit, sign]) => `${digit}${sign}`).join('')}`)).not.toBeNull();
        },
      ),
    );
  });
});

describe('what is not seen', () => {
  const unseen = [
    ...['\u0000', '\t', '\n', '\r', '\u007f', '\u0085', '\u009f', '\u2028', '\u2029'],
    ...['\u202a', '\u202e', '\u2066', '\u2069', '\u200e', '\u200f', '\u061c'],
    ...[
      '\u200b',
      '\u200c',
      '\u200d',
      '\u2060',
      '\ufeff',
      '\u00ad',
      '\u034f',
      '\u3164',
      '\uffa0',
      '\u2800',
      '\ufe0f',
      '\u{e0041}',
    ],
    ...['\ud800', '\udfff', '\ue000', '\uffff'],
  ];

  test.each(unseen.map((one) => [one.codePointAt(0)!.toString(16), one]))(
    'is refused in any place: U+%s',
    (_hex, one) => {
      for (const brand of [`Acme${one}Bank`, `${one}Acme`, `Acme${one}`, one, `Acme ${one} Bank`]) {
        expect([brand, brandProblem(brand)]).toEqual([brand, expect.stringContaining('visible characters')]);
      }
    },
  );

  test('a joiner is refused twice in a row, after a blank and between Latin letters', () => {
    for (const brand of ['র\u200d\u200d্যাব', 'র \u200dয', 'ev\u200dil'])
      expect(brandProblem(brand)).toContain('visible characters');
  });

  test.each([' ', '   ', '\u00a0', '\u3000', '!', '...', '&', '—', '🚀'])('alone is no name: "%s"', (brand) => {
    expect(brandProblem(brand)).toBe('must have a letter or a digit');
  });
});

test('any text is judged without an error', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 24 }), (text) => {
      const problem = brandProblem(text);
      expect(problem === null || problem.startsWith('must ')).toBe(true);
    }),
  );
});
