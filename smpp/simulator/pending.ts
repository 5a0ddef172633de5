// What a simulated carrier still has to send when it stops: the receipts of messages it took, and deliveries that no
// client has answered. A real SMSC keeps them; here a file does, from a clean stop to the first bind after the next start.
// Only its owner may read it, and of a text it has no more than a receipt repeats.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import { SetupError, messageOf } from '../../platform/errors.ts';
import type { Account } from './contract.ts';
import type { Delivery } from './deliveries.ts';
import { bodyOf } from './reading.ts';
import { receiptTextOctets, type Taken, type Undelivered } from './receipts.ts';

/** A message whose last receipt is to come. `account` is a system id. */
type PendingReceipt = Omit<Taken, 'account' | 'session'> & Omit<Undelivered, 'taken'> & { readonly account: string };

/** A receipt or an inbound message that was not sent, or not answered with status 0. */
type PendingDelivery = Pick<Delivery, 'message' | 'isReceipt' | 'intendedUs'> & { readonly account: string };

/** `lastId`: message ids go on after it. */
export type Pending = {
  readonly lastId: bigint;
  readonly receipts: readonly PendingReceipt[];
  readonly deliveries: readonly PendingDelivery[];
};

/** Replaces the file as a whole: a stop that is cut short leaves the one before. */
export function writePending(file: string, pending: Pending): void {
  const draft = `${file}.new`;
  writeFileSync(draft, serialize({ version, ...pending }), { mode: 0o600 });
  renameSync(draft, file);
}

/** Undefined when there is no file. Throws SetupError when it cannot be read. */
export function readPending(file: string): Pending | undefined {
  try {
    const read = deserialize(readFileSync(file)) as Pending & { version: number };
    if (read.version === version) return read;
    throw new Error(`it has version ${String(read.version)}, expected ${version}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new SetupError(
      `${file}: the pending receipts of the simulated carrier cannot be read (${messageOf(error)}): remove the file, and they are lost`,
      error,
    );
  }
}

/** From the first bind on the file says what is no longer true: reading it again would send receipts twice. */
export function removePending(file: string): void {
  rmSync(file, { force: true });
}

const version = 1;

export function pendingReceipt({ taken, fate, dueAtMs }: Undelivered): PendingReceipt {
  const { responseId, receiptId, submittedAtMs, intendedUs, pdu, account } = taken;
  const { headerOctets } = bodyOf(pdu);
  const octets = pdu.octets.subarray(0, headerOctets + receiptTextOctets);
  const beginning = { ...pdu, octets };
  return { account: account.systemId, responseId, receiptId, submittedAtMs, intendedUs, pdu: beginning, fate, dueAtMs };
}

/** Takes them from the account. */
export function pendingDeliveries({ systemId, deliveries }: Account): PendingDelivery[] {
  return deliveries
    .takeAll()
    .map(({ message, isReceipt, intendedUs }) => ({ account: systemId, message, isReceipt, intendedUs }));
}
