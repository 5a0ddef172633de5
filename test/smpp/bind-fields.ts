// The fields of a bind as tests write them.
import type { BindFields } from '../../smpp/pdu.ts';

/** The fields of a bind for an ordinary client of SMPP 3.4. */
export function bindFields(systemId: string, password: string, systemType = ''): BindFields {
  return { systemId, password, systemType, interfaceVersion: 0x34, addressTon: 0, addressNpi: 0, addressRange: '' };
}
