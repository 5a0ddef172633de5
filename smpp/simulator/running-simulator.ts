// A running simulator as its users see it.
import type { BindCommand, BindFields, ShortMessage } from '../pdu.ts';
import type { FaultArgs, FaultName } from './faults.ts';
import type { Inbound } from './inbound.ts';
import type { RecordedMessage } from './recording.ts';
import type { Stats } from './stats.ts';

export type Simulator = {
  readonly port: number;
  readonly statsPort: number;
  stats(): Stats;
  /** The recorded messages, long ones put together, oldest first. */
  messages(filter?: { destination?: string }): RecordedMessage[];
  /** The sessions bound now: what each said in its bind, without its password. */
  binds(): BoundSession[];
  /** How often a nonce (base 36) came. */
  nonceCount(nonce: string): number;
  /** Adds a fault, or clears all with null. */
  setFault(name: FaultName | null, args?: FaultArgs): void;
  /** Sends a message from a subscriber to the account's receiving sessions. */
  sendInbound(inbound: Inbound): void;
  /** Sends any deliver_sm, such as one part of a text in a form of its own. */
  deliver(message: ShortMessage, systemId?: string): void;
  /** Forgets the recording and the nonces. */
  forget(): void;
  close(): Promise<void>;
};

export type BoundSession = Omit<BindFields, 'password'> & { command: BindCommand; encrypted: boolean };
