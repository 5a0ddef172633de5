// TON and NPI for recipients and senders, both sides of each limit.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { destinationAddress, recipientAddress, senderAddress, subscriberDigits } from '../../smpp/numbers.ts';

describe('a recipient', () => {
  test.each(['+8801712345678', '8801712345678'])('%s is international, without its plus', (recipient) => {
    expect(recipientAddress(recipient)).toEqual({ ton: 1, npi: 1, address: '8801712345678' });
  });

  test.each(['', '+', '0171', '+0171234567', '12345', '1234567890123456', '+88017x2345678'])(
    '%s is refused',
    (recipient) => {
      expect(recipientAddress(recipient)).toBeNull();
    },
  );
});

describe('a sender', () => {
  test.each([
    ['Heliograph', 5, 0, 'Heliograph'],
    ['12345678901', 1, 1, '12345678901'],
    ['ABCDEFGHIJK', 5, 0, 'ABCDEFGHIJK'],
    ['4Sure', 5, 0, '4Sure'],
    ['+8801712345678', 1, 1, '8801712345678'],
    ['01712345678', 2, 1, '01712345678'],
    ['160', 3, 0, '160'],
    ['16000', 3, 0, '16000'],
    ['12345678', 3, 0, '12345678'],
  ])('%s is %i/%i', (sender, ton, npi, address) => {
    expect(senderAddress(sender)).toEqual({ ton, npi, address });
  });

  test.each(['', 'ABCDEFGHIJKL', 'naïve', '12', '+', '   ', '1234567890123456'])('"%s" is refused', (sender) => {
    expect(senderAddress(sender)).toBeNull();
  });
});

describe("a carrier's form of a subscriber's number", () => {
  const home = { format: 'national', callingCode: '880', nationalPrefix: '0', nationalDigitsMax: 10 } as const;
  const bare = { ...home, nationalPrefix: '' };

  test.each([
    ['01712345678', home, '8801712345678'],
    ['1712345678', home, '8801712345678'],
    ['8801712345678', home, '8801712345678'],
    ['+8801712345678', home, '8801712345678'],
    ['1712345678', bare, '8801712345678'],
    ['008801712345678', home, '8801712345678'],
    // The other address of a receipt, where a carrier exchanges the two.
    ['HELIO', home, 'HELIO'],
    // Ten digits that begin like the calling code are still a national number.
    ['8801234567', bare, '8808801234567'],
    ['4915112345678', { ...home, format: 'e164_digits' as const }, '4915112345678'],
    ['+4915112345678', { ...home, format: 'plus' as const }, '4915112345678'],
  ])('%s is %s', (address, rules, digits) => {
    expect(subscriberDigits(address, rules)).toBe(digits);
  });

  test('is converted and back for every number of the country', () => {
    const national = fc.stringMatching(/^[1-9][0-9]{7,9}$/);
    const rules = fc.record({
      format: fc.constantFrom('e164_digits' as const, 'national' as const, 'plus' as const),
      callingCode: fc.constant('880'),
      nationalPrefix: fc.constantFrom('', '0'),
      nationalDigitsMax: fc.constant(10),
    });
    fc.assert(
      fc.property(national, rules, (number, rule) => {
        const address = destinationAddress(`+880${number}`, rule);
        if (address === null) throw new Error('a good number was refused');
        expect(subscriberDigits(address.address, rule)).toBe(`880${number}`);
      }),
    );
  });
});
