// Combinations of a carrier's PDU settings that an SMSC could not decode although each is valid alone.
import type { CarrierConfig } from './configuration.ts';

export type WireProblem = { path: string[]; text: string };

export function wireProblems({ wire, binds }: CarrierConfig): WireProblem[] {
  const problems: WireProblem[] = [];
  const { gsm7DataCoding, ucs2DataCoding, latin1DataCoding, latin1, concatenation } = wire.text;
  const same = (key: string, value: number) => {
    problems.push({ path: ['text', key], text: `found ${value} for two alphabets, expected one data_coding for each` });
  };
  if (gsm7DataCoding === ucs2DataCoding) same('ucs2_data_coding', ucs2DataCoding);
  if (latin1 !== 'never' && latin1DataCoding === gsm7DataCoding) same('latin1_data_coding', latin1DataCoding);
  if (latin1 !== 'never' && latin1DataCoding === ucs2DataCoding) same('latin1_data_coding', latin1DataCoding);
  // Optional parameters exist since 3.4 (SMPP 3.4 §3.2.5.1): a carrier of 3.3 refuses or ignores them.
  if (binds.every(({ interfaceVersion }) => interfaceVersion >= 0x34)) return problems;
  const before = 'which a bind with interface_version 0x33 cannot send';
  if (wire.tlvs.length > 0)
    problems.push({ path: ['tlvs'], text: `found optional parameters, ${before}, expected none` });
  if (concatenation !== 'udh') {
    problems.push({ path: ['text', 'concatenation'], text: `found "${concatenation}", ${before}, expected udh` });
  }
  return problems;
}
