// How a carrier wants its PDUs: alphabets, concatenation, addresses, optional fields; the parsed shape and its
// defaults. It knows no PDU: smpp/ and the carrier actor apply it.
import type { Category } from '../model/message.ts';
import type { NationalLanguage } from '../model/text/national-languages.ts';
import type { DestinationRules, TextRules } from '../model/wire-rules.ts';

export type WireConfig = {
  text: WireTextConfig;
  /** TON and NPI of the sender by its kind; null keeps what its form suggests. */
  source: Record<AddressKind, { ton: number | null; npi: number | null }>;
  destination: DestinationRules;
  validityPeriod: 'none' | 'relative' | 'absolute';
  priorityFlag: Record<Category, number>;
  serviceType: Record<Category, string>;
  /** Instead of what the message asks for; null leaves that. */
  registeredDelivery: number | null;
  tlvs: WireTlvConfig[];
  /** The carrier answers query_sm: a late answered submit without a receipt is asked about. */
  querySm: boolean;
};

export type WireTextConfig = TextRules & {
  /** National shift tables of GSM-7 that the carrier passes on to the handset. */
  nationalTables: readonly NationalLanguage[];
};

export const addressKinds = ['alphanumeric', 'short_code', 'international', 'national'] as const;
export type AddressKind = (typeof addressKinds)[number];

export const tlvTypes = ['string', 'cstring', 'int8', 'int16', 'int32', 'hex'] as const;
export type TlvType = (typeof tlvTypes)[number];

/** Fields of a message that a TLV may carry. One the message does not have leaves the TLV out. */
export const tlvSources = [
  'sender',
  'message_id',
  'account_id',
  'client_reference',
  'template_id',
  'campaign_id',
  'category',
] as const;
export type TlvSource = (typeof tlvSources)[number];

export type WireTlvConfig = { tag: number; type: TlvType } & ({ value: string } | { from: TlvSource });

/** A carrier that differs in nothing from plain SMPP 3.4. */
export const plainWire: WireConfig = {
  text: {
    gsm7Form: 'unpacked',
    gsm7DataCoding: 0,
    ucs2DataCoding: 8,
    latin1DataCoding: 3,
    latin1: 'never',
    concatenation: 'udh',
    nationalTables: [],
  },
  source: {
    alphanumeric: { ton: null, npi: null },
    short_code: { ton: null, npi: null },
    international: { ton: null, npi: null },
    national: { ton: null, npi: null },
  },
  destination: { format: 'e164_digits', callingCode: '', nationalPrefix: '', nationalDigitsMax: 15 },
  validityPeriod: 'relative',
  priorityFlag: { otp: 0, transactional: 0, promotional: 0 },
  serviceType: { otp: '', transactional: '', promotional: '' },
  registeredDelivery: null,
  tlvs: [],
  querySm: false,
};
