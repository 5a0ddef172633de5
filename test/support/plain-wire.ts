// A carrier's PDU settings of plain SMPP 3.4, which are the defaults of heliograph.yaml (test/config/wire.test.ts).
import type { WireConfig } from '../../config/wire-schema.ts';

/** The settings of plain SMPP 3.4. */
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
  cancelSm: false,
};
