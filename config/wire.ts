// A carrier's PDU settings with their defaults: alphabets, concatenation, addresses, optional fields. smpp/ and the
// carrier actor apply them.
import type { Category } from '../model/message.ts';
import type { NationalLanguage } from '../model/text/national-languages.ts';
import type { DestinationRules, TextRules } from '../model/wire-rules.ts';

export type WireConfig = {
  text: WireTextConfig;
  /** TON and NPI of the sender by kind; null keeps those derived from its form. */
  source: Record<AddressKind, { ton: number | null; npi: number | null }>;
  destination: DestinationRules;
  validityPeriod: 'none' | 'relative' | 'absolute';
  priorityFlag: Record<Category, number>;
  serviceType: Record<Category, string>;
  /** Replaces the message's registered_delivery; null keeps it. */
  registeredDelivery: number | null;
  tlvs: WireTlvConfig[];
  /** The carrier supports query_sm: submits with a late response and no receipt are queried. */
  querySm: boolean;
  /** The carrier supports cancel_sm: a copy that is not needed any more is cancelled. */
  cancelSm: boolean;
};

export type WireTextConfig = TextRules & {
  /** National shift tables of GSM-7 that the carrier transmits to the handset. */
  nationalTables: readonly NationalLanguage[];
};

export const addressKinds = ['alphanumeric', 'short_code', 'international', 'national'] as const;
export type AddressKind = (typeof addressKinds)[number];

export const tlvTypes = ['string', 'cstring', 'int8', 'int16', 'int32', 'hex'] as const;
export type TlvType = (typeof tlvTypes)[number];

/** Message fields that a TLV may carry. A message without the field is sent without the TLV. */
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
