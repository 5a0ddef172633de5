// What the simulated carrier refuses in a submit_sm.
import { commandStatus } from '../../model/command-status.ts';
import { type ShortMessagePdu, type Tlv, tlvTag } from '../pdu.ts';
import { readTime } from '../times.ts';

/**
 * Validates a submit_sm as a strict SMSC does, with the status of SMPP 3.4 §5.1.3, so that a wrong carrier setting
 * fails here and not at the carrier. The status that refuses the submit, or 0. `nowMs` is wall time.
 */
export function refusalOf(pdu: ShortMessagePdu, interfaceVersion: number, nowMs: number): number {
  if (pdu.sourceTon > 6) return commandStatus.ESME_RINVSRCTON;
  if (pdu.destinationTon > 6) return commandStatus.ESME_RINVDSTTON;
  if (pdu.destination === '' || (pdu.destinationTon === 1 && !/^\+?\d{3,20}$/.test(pdu.destination))) {
    return commandStatus.ESME_RINVDSTADR;
  }
  if ((pdu.priority ?? 0) > 4) return commandStatus.ESME_RINVPRTFLG;
  if ((pdu.serviceType?.length ?? 0) > 5) return commandStatus.ESME_RINVSERTYP;
  if (pdu.validity) {
    const until = readTime(pdu.validity, nowMs);
    if (until === undefined || until <= nowMs) return commandStatus.ESME_RINVEXPIRY;
  }
  if ((pdu.registeredDelivery & 0xe0) !== 0) return commandStatus.ESME_RINVREGDLVFLG;
  const hasUdh = (pdu.esmClass & 0x40) !== 0;
  if (hasUdh && (pdu.octets[0] ?? 0xff) >= pdu.octets.length) return commandStatus.ESME_RINVESMCLASS;
  if (pdu.tlvs === undefined || pdu.tlvs.length === 0) return 0;
  // Optional parameters exist since 3.4 (§3.2.5.1).
  return interfaceVersion < 0x34 ? commandStatus.ESME_RTLVNOTALLWD : tlvRefusal(pdu.tlvs);
}

const sarLengths: Readonly<Record<number, number>> = {
  [tlvTag.sarReference]: 2,
  [tlvTag.sarTotal]: 1,
  [tlvTag.sarPart]: 1,
};

function tlvRefusal(tlvs: readonly Tlv[]): number {
  let sarCount = 0;
  let [total, part] = [1, 1];
  for (const { tag, value } of tlvs) {
    const length = sarLengths[tag];
    if (length === undefined) continue;
    if (value.length !== length) return commandStatus.ESME_RINVTLVLEN;
    sarCount += 1;
    if (tag === tlvTag.sarTotal) total = value[0]!;
    if (tag === tlvTag.sarPart) part = value[0]!;
  }
  if (sarCount !== 0 && sarCount !== 3) return commandStatus.ESME_RMISSINGTLV;
  return part < 1 || part > total ? commandStatus.ESME_RINVTLVVAL : 0;
}
