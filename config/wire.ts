// Names and types in a carrier's PDU settings (wire-schema.ts) that the carrier actor uses too.

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
