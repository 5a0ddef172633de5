// Faults of the line, played against one session: cut it, unbind it, send it what is no PDU. Which are active is
// known by faults.ts.
import type { Random } from '../../platform/random.ts';
import { commandStatus } from '../command-status.ts';
import { commandId, type ShortMessagePdu } from '../pdu.ts';
import type { SimulatedCarrier, SimulatedSession } from './contract.ts';
import type { FaultName } from './faults.ts';

const onSubmitFaults = ['drop', 'unbind', 'garbage', 'bad-length', 'unknown-command'] as const;

/** Plays what is to be played when a submit came; true when the submit is thereby dealt with. */
export function playOnSubmit(
  smsc: SimulatedCarrier,
  session: SimulatedSession,
  pdu: ShortMessagePdu,
  random: Random,
): boolean {
  const { faults } = smsc;
  // Reading stops with the next chunk; what came in this one is not answered either.
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

/** Plays a fault of the line at once; other faults have no effect here. */
export function playOnLine(session: SimulatedSession, name: FaultName, arg: number | undefined, random: Random): void {
  switch (name) {
    case 'drop':
      return session.destroy('fault: drop');
    case 'unbind':
      return session.unbind();
    case 'garbage': {
      const bytes = Buffer.from(Array.from({ length: 64 }, () => Math.floor(random.unit() * 256)));
      // No length of a PDU, so that the client need not wait for the rest of one.
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
