// The interface of a running simulator.
import type { BindCommand, BindFields, ShortMessage } from '../pdu.ts';
import type { FaultArgs, FaultName } from './faults.ts';
import type { Inbound } from './inbound.ts';
import type { RecordedMessage } from './recording.ts';
import type { Stats } from './stats.ts';

export type Simulator = {
  readonly port: number;
  readonly statsPort: number;
  stats(): Stats;
  /** The recorded messages, long ones reassembled, oldest first. */
  messages(filter?: { destination?: string }): RecordedMessage[];
  /** The bound sessions with the fields of their bind, without the password. */
  binds(): BoundSession[];
  /** How often a nonce (base 36) arrived. */
  nonceCount(nonce: string): number;
  /** Adds a fault, or clears all with null. */
  setFault(name: FaultName | null, args?: FaultArgs): void;
  /** Sends a message from a subscriber to the account's receiving sessions. */
  sendInbound(inbound: Inbound): void;
  /** Sends any deliver_sm, for example one part of a text. */
  deliver(message: ShortMessage, systemId?: string): void;
  /** Forgets the recording and the nonces. */
  forget(): void;
  close(): Promise<void>;
};

export type BoundSession = Omit<BindFields, 'password'> & { command: BindCommand; encrypted: boolean };
