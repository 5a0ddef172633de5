// One cause has one error, however the carrier writes its code.
import { expect, test } from 'vitest';
import { receiptError } from '../../../../actors/carrier/receipts/receipt-error.ts';

test.each([
  ['027', 'receipt_undelivered:27'],
  ['27', 'receipt_undelivered:27'],
  ['0', 'receipt_undelivered'],
  ['000', 'receipt_undelivered'],
  ['', 'receipt_undelivered'],
  ['100', 'receipt_undelivered:100'],
  ['0A1', 'receipt_undelivered:0A1'],
])('the code "%s" is %s', (errorCode, error) => {
  expect(receiptError({ state: 'undelivered', errorCode })).toBe(error);
});
