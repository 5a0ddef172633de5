// Addresses of messages from subscribers: whatever form a carrier uses, it becomes one number; an unknown form stays
// unchanged.
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { addressForms } from '../../../policy/country/address-forms.ts';

const bangladesh = addressForms({ callingCode: '+880', nationalLengths: [10], prefixes: {}, trunkPrefix: '0' });
const france = addressForms({
  callingCode: '+33',
  nationalLengths: [9],
  prefixes: {},
  trunkPrefix: '0',
});

describe('a recipient, in a receipt', () => {
  it.each([
    ['8801712345678', 1],
    ['+8801712345678', 5],
    ['01712345678', 1],
    ['01712345678', 2],
    ['1712345678', 1],
    ['1712345678', 0],
    ['+01712345678', 1],
    ['008801712345678', 1],
    ['8801712345678', 5],
  ])('is a number of this country where it can be one, written %s with TON %i', (address, ton) => {
    expect(bangladesh.recipient(address, ton)).toBe('+8801712345678');
  });

  it.each([
    ['447700900123', 1, '+447700900123'],
    ['+447700900123', 1, '+447700900123'],
    ['16000', 3, null],
    ['BKASH', 5, null],
    ['GP Info', 0, null],
  ])('%s with TON %i is %s', (address, ton, number) => expect(bangladesh.recipient(address, ton)).toBe(number));

  test('every number of the country is recognised, in every form and with any TON', () => {
    const national = fc.stringMatching(/^[1-9][0-9]{9}$/);
    const form = fc.constantFrom('880', '+880', '00880', '0', '');
    fc.assert(
      fc.property(national, form, fc.integer({ min: 0, max: 6 }), (number, before, ton) => {
        // Ten digits that begin with the calling code are no complete international number here.
        expect(bangladesh.recipient(before + number, ton)).toBe(`+880${number}`);
      }),
    );
  });
});

describe('a subscriber', () => {
  it.each([
    ['8801712345678', 1],
    ['+8801712345678', 0],
    ['8801712345678', 0],
    ['01712345678', 2],
    ['01712345678', 0],
    ['1712345678', 2],
    ['1712345678', 0],
    ['008801712345678', 0],
    ['008801712345678', 1],
  ])('is one number, written %s with TON %i', (address, ton) => {
    expect(bangladesh.subscriber(address, ton)).toBe('+8801712345678');
  });

  it('from abroad is recognised by its calling code', () => {
    expect(bangladesh.subscriber('447700900123', 1)).toBe('+447700900123');
    expect(bangladesh.subscriber('447700900123', 0)).toBe('+447700900123');
    expect(france.subscriber('8801712345678', 0)).toBe('+8801712345678');
  });

  it.each([
    ['16000', 3],
    ['16000', 0],
    ['BKASH', 5],
    ['GP Info', 0],
    ['', 0],
    ['12345', 1],
    ['+0123456789', 1],
    ['+1234567890123456', 1],
  ])('cannot be %j with TON %i', (address, ton) => expect(bangladesh.subscriber(address, ton)).toBeNull());

  test('in E.164 stays unchanged', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\+[1-9][0-9]{6,14}$/), (number) => {
        expect(bangladesh.subscriber(number, 1)).toBe(number);
      }),
    );
  });
});

describe('a client’s number', () => {
  it('is looked up as received first, then in every form it may be registered in', () => {
    expect(bangladesh.client('16000', 3)).toEqual(['16000']);
    expect(bangladesh.client('8809612345678', 1)).toEqual(['8809612345678', '09612345678', '9612345678']);
    expect(bangladesh.client('+8809612345678', 1)[0]).toBe('8809612345678');
    expect(bangladesh.client('09612345678', 2)).toEqual(['09612345678', '8809612345678', '9612345678']);
    expect(bangladesh.client('9612345678', 2)).toEqual(['9612345678', '8809612345678', '09612345678']);
    expect(bangladesh.client('447700900123', 1)).toEqual(['447700900123']);
    expect(bangladesh.client('HELIO', 5)).toEqual([]);
  });
});
