// How a carrier wants texts and recipients encoded. The configuration sets it, smpp/ applies it. Types only.

export type TextRules = {
  /** unpacked: one septet per octet, the SMSC packs · packed: eight septets in seven octets. */
  gsm7Form: 'unpacked' | 'packed';
  gsm7DataCoding: number;
  ucs2DataCoding: number;
  latin1DataCoding: number;
  /** When Latin-1 is used: never, for texts that would otherwise need UCS-2, or for every text it can hold. */
  latin1: 'never' | 'instead_of_ucs2' | 'first';
  concatenation: 'udh' | 'sar' | 'message_payload';
};

export type DestinationRules = {
  format: 'e164_digits' | 'national' | 'plus';
  /** Digits of the home country's calling code: a national number omits them. */
  callingCode: string;
  /** The trunk prefix of a national number, `0` in many countries. */
  nationalPrefix: string;
  /** The most digits a number of the home country has after the calling code. */
  nationalDigitsMax: number;
};
