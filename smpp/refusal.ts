// Answers a PDU that is not allowed in the present state, the same for client and server (SMPP 3.4 §3.3 and §4.3), so
// that the peer notices the error. It never ends a session.
import { ignoring } from '../platform/errors.ts';
import { commandStatus } from '../model/command-status.ts';
import type { Link } from './link.ts';
import { commandId, type Pdu } from './pdu.ts';

export function refusePdu(link: Link, pdu: Pdu): void {
  const id = pdu.command === 'other' ? pdu.commandId : commandId[pdu.command];
  if (id === alertNotification) return ignoring(undefined, 'an alert_notification, which has no response');
  if (id >= responseBit) return ignoring(undefined, 'a response nobody waits for');
  // An undefined command has no response of its own.
  if (pdu.command === 'other') return link.sendBare(commandId.generic_nack, commandStatus.ESME_RINVCMDID, pdu.sequence);
  link.sendBare(id + responseBit, commandStatus.ESME_RINVBNDSTS, pdu.sequence);
}

const alertNotification = 0x102;
const responseBit = 0x80000000;
