// What a handset can show as a sender, at both sides of each bound.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { senderKindOf } from '../../model/sender.ts';

test.each([
  ['ACME', 'alphanumeric'],
  ['A', 'alphanumeric'],
  ['ELEVENCHARS', 'alphanumeric'],
  ['A & B_c.d-1', 'alphanumeric'],
  ['1A', 'alphanumeric'],
  ['123', 'short_code'],
  ['12345678', 'short_code'],
  ['123456789', 'numeric'],
  ['+8801712345678', 'numeric'],
  ['123456789012345', 'numeric'],
])('%s is %s', (sender, kind) => {
  expect(senderKindOf(sender)).toBe(kind);
});

test.each([
  '',
  ' ',
  '12',
  '1234567890123456',
  '+12345678',
  'TWELVE-CHARS',
  ' A',
  'A ',
  '&.-',
  'Ünï',
  'A\n',
  'A\u0000',
  '٣٤٥',
])('%j is no sender', (sender) => {
  expect(senderKindOf(sender)).toBeNull();
});

test('every accepted sender has 1 to 16 printable ASCII characters: the database holds no more', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 20 }), (sender) => {
      if (senderKindOf(sender) !== null) expect(sender).toMatch(/^[\x20-\x7e]{1,16}$/);
    }),
  );
});
