// How a carrier wants texts and recipients written on the wire. The configuration says it, smpp/ does it. Types only.

export type TextRules = {
  /** unpacked: one septet per octet, the SMSC packs · packed: eight septets in seven octets. */
  gsm7Form: 'unpacked' | 'packed';
  gsm7DataCoding: number;
  ucs2DataCoding: number;
  latin1DataCoding: number;
  /** Latin-1 never, for texts that would go as UCS-2 otherwise, or for every text it can hold. */
  latin1: 'never' | 'instead_of_ucs2' | 'first';
  concatenation: 'udh' | 'sar' | 'message_payload';
};

export type DestinationRules = {
  format: 'e164_digits' | 'national' | 'plus';
  /** Digits of the home country's calling code: what a national number leaves out. */
  callingCode: string;
  /** What comes before a national number instead, `0` in many countries. */
  nationalPrefix: string;
  /** The most digits a number of the home country has after the calling code. */
  nationalDigitsMax: number;
};
