// The value of a TLV from text, by its type. A text that does not fit the type gives undefined: the configuration
// refuses it at the start, and an unfit value of a message only drops the TLV.
import type { Tlv } from './pdu.ts';

export type TlvValueType = 'string' | 'cstring' | 'int8' | 'int16' | 'int32' | 'hex';

const tlvTextMax = 255;

export function tlvOf(tag: number, type: TlvValueType, text: string): Tlv | undefined {
  const value = valueOf(type, text);
  return value && { tag, value };
}

function valueOf(type: TlvValueType, text: string): Buffer | undefined {
  switch (type) {
    case 'string':
    case 'cstring': {
      // Printable ASCII: an octet string has no alphabet, and a zero would end it early.
      if (text.length > tlvTextMax || !/^[\x20-\x7e]*$/.test(text)) return undefined;
      return Buffer.from(type === 'cstring' ? `${text}\0` : text, 'latin1');
    }
    case 'hex':
      return /^([0-9a-fA-F]{2}){0,255}$/.test(text) ? Buffer.from(text, 'hex') : undefined;
    default: {
      const octets = { int8: 1, int16: 2, int32: 4 }[type];
      const value = /^(\d{1,10}|0x[0-9a-fA-F]{1,8})$/.test(text) ? Number(text) : Number.NaN;
      if (!(value < 2 ** (octets * 8))) return undefined;
      const buffer = Buffer.alloc(octets);
      buffer.writeUIntBE(value, 0, octets);
      return buffer;
    }
  }
}
