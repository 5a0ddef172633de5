// TON and NPI of source_addr and destination_addr (SMPP 3.4 §5.2.5). A wrong TON is the most common reason why a
// carrier drops or rewrites a sender. Pure; the gates decide which sender a client may use.
import { isE164 } from '../model/e164.ts';
import type { DestinationRules } from '../model/wire-rules.ts';

type SmppAddress = { ton: number; npi: number; address: string };

export const typeOfNumber = {
  unknown: 0,
  international: 1,
  national: 2,
  networkSpecific: 3,
  alphanumeric: 5,
} as const;
const numberingPlan = { unknown: 0, isdn: 1 } as const;
const international = { ton: typeOfNumber.international, npi: numberingPlan.isdn };
const national = { ton: typeOfNumber.national, npi: numberingPlan.isdn };

/** A recipient in E.164, with or without plus: TON 1, NPI 1 and the digits alone; null for anything else. */
export function recipientAddress(recipient: string): SmppAddress | null {
  const number = recipient.startsWith('+') ? recipient : `+${recipient}`;
  return isE164(number) ? { ...international, address: number.slice(1) } : null;
}

/** A recipient in the form the carrier wants. Only numbers of the home country have a national form. */
export function destinationAddress(recipient: string, rules: DestinationRules): SmppAddress | null {
  const plain = recipientAddress(recipient);
  if (plain === null || rules.format === 'e164_digits') return plain;
  if (rules.format === 'plus') return { ...plain, address: `+${plain.address}` };
  if (rules.callingCode === '' || !plain.address.startsWith(rules.callingCode)) return plain;
  return { ...national, address: `${rules.nationalPrefix}${plain.address.slice(rules.callingCode.length)}` };
}

/** The reverse: a subscriber's address in a receipt or an inbound message, as digits of E.164. */
export function subscriberDigits(address: string, rules: DestinationRules): string {
  if (address.startsWith('+')) return address.slice(1);
  if (rules.format !== 'national' || rules.callingCode === '' || !/^\d+$/.test(address)) return address;
  const { callingCode, nationalPrefix, nationalDigitsMax } = rules;
  // The international prefix 00, for numbers of the home country too.
  if (address.startsWith('00') && !nationalPrefix.startsWith('00')) return address.slice(2);
  if (nationalPrefix !== '' && address.startsWith(nationalPrefix)) {
    return `${callingCode}${address.slice(nationalPrefix.length)}`;
  }
  // Carriers that accept national numbers often report international ones.
  return address.startsWith(callingCode) && address.length > nationalDigitsMax ? address : `${callingCode}${address}`;
}

/**
 * A sender's TON/NPI: E.164 is 1/1, a short code (3 to 8 digits) 3/0, a number with a leading zero 2/1, a name (up to
 * 11 characters, one of them no digit) 5/0. Up to 8 digits without a plus are a short code. Null for anything else.
 */
export function senderAddress(sender: string): SmppAddress | null {
  if (isE164(sender)) return { ...international, address: sender.slice(1) };
  if (/^0\d{5,14}$/.test(sender)) return { ...national, address: sender };
  if (/^\d{3,8}$/.test(sender)) {
    return { ton: typeOfNumber.networkSpecific, npi: numberingPlan.unknown, address: sender };
  }
  if (/^[1-9]\d{8,14}$/.test(sender)) return { ...international, address: sender };
  // Printable ASCII only: source_addr is an octet string and carriers disagree on everything above.
  if (/^[\x20-\x7e]{1,11}$/.test(sender) && /[^\d\s+]/.test(sender)) {
    return { ton: typeOfNumber.alphanumeric, npi: numberingPlan.unknown, address: sender };
  }
  return null;
}
