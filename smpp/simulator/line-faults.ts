// Injects connection faults into one session: disconnects, unbinds, sends octets that are no PDU. faults.ts has the
// active ones.
import type { Random } from '../../platform/random.ts';
import { commandStatus } from '../../model/command-status.ts';
import { commandId, type ShortMessagePdu } from '../pdu.ts';
import type { SimulatedCarrier, SimulatedSession } from './contract.ts';
import type { FaultName } from './faults.ts';

const onSubmitFaults = ['drop', 'unbind', 'garbage', 'bad-length', 'unknown-command'] as const;

/** Injects the active faults for a submit; true when the submit needs no further handling. */
export function playOnSubmit(
  smsc: SimulatedCarrier,
  session: SimulatedSession,
  pdu: ShortMessagePdu,
  random: Random,
): boolean {
  const { faults } = smsc;
  // Reading stops with the next chunk; PDUs of this one get no response either.
  if (faults.has('stall')) return true;
  for (const name of onSubmitFaults) {
    if (!faults.has(name)) continue;
    const length = faults.argOf(name);
    faults.take(name);
    playOnLine(session, name, length, random);
    return name !== 'unknown-command';
  }
  if (!faults.take('generic-nack')) return false;
  session.link.sendBare(commandId.generic_nack, commandStatus.ESME_RINVCMDID, pdu.sequence);
  return true;
}

/** Injects a connection fault at once; other faults have no effect here. */
export function playOnLine(session: SimulatedSession, name: FaultName, arg: number | undefined, random: Random): void {
  switch (name) {
    case 'drop':
      return session.destroy('fault: drop');
    case 'unbind':
      return session.unbind();
    case 'garbage': {
      const bytes = Buffer.from(Array.from({ length: 64 }, () => Math.floor(random.unit() * 256)));
      // An invalid length, so that the client does not wait for the rest of a PDU.
      bytes[0] = 0x80 | bytes[0]!;
      return session.link.sendBytes(bytes);
    }
    case 'bad-length': {
      const bytes = Buffer.alloc(16);
      bytes.writeUInt32BE(arg ?? badLengths[badLengthTurn++ % badLengths.length]!, 0);
      bytes.writeUInt32BE(commandId.enquire_link, 4);
      return session.link.sendBytes(bytes);
    }
    case 'unknown-command':
      return session.link.sendBare(0x0000_0abc, 0, session.nextSequence());
    default:
  }
}

const badLengths = [0, 3, 15, 1_000_000_000] as const;
let badLengthTurn = 0;
