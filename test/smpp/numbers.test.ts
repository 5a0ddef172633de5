// TON and NPI for recipients and senders, both sides of each limit.
import { describe, expect, test } from 'vitest';
import { isRefusal, recipientAddress, senderAddress } from '../../smpp/numbers.ts';

describe('a recipient', () => {
  test.each(['+8801712345678', '8801712345678'])('%s is international, without its plus', (recipient) => {
    expect(recipientAddress(recipient)).toEqual({ ton: 1, npi: 1, address: '8801712345678' });
  });

  test.each(['', '+', '0171', '+0171234567', '12345', '1234567890123456', '+88017x2345678'])(
    '%s is refused',
    (recipient) => {
      expect(isRefusal(recipientAddress(recipient))).toBe(true);
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
    expect(senderAddress(sender)).toEqual({ ok: false, code: 'address_not_usable' });
  });
});
