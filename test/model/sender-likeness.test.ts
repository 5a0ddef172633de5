// Which senders a reader could confuse.
import { expect, test } from 'vitest';
import { senderLikeness } from '../../model/sender-likeness.ts';

test.each([
  ['HELIOGRAPH', 'heliograph'],
  ['HELIOGRAPH', 'HELI0GRAPH'],
  ['HELIOGRAPH', 'HE1IOGRAPH'],
  ['My Bank', 'MYBANK'],
  ['My-Bank', 'My.Bank'],
  ['BANK5', 'BANKS'],
  ['modern', 'rnodern'],
  ['+8801712345678', '8801712345678'],
])('%s looks like %s', (one, other) => {
  expect(senderLikeness(one)).toBe(senderLikeness(other));
});

test.each([
  ['HELIOGRAPH', 'HELIOGRAF'],
  ['BANK', 'BANKA'],
  ['16000', '16001'],
  ['10015', '10018'],
])('%s does not look like %s', (one, other) => {
  expect(senderLikeness(one)).not.toBe(senderLikeness(other));
});
