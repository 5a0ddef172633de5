// The active faults of the simulator and how many times each still applies. smsc-session.ts, smsc.ts, line-faults.ts
// and deliveries.ts inject them.

export const faultNames = [
  'stall', // stops reading and answering
  'drop', // destroys the socket
  'no-resp', // accepts submits without a response
  'no-bind-resp',
  'no-enquire-resp',
  'queue-full', // ESME_RMSGQFUL, after `arg` milliseconds
  'throttle', // ESME_RTHROTTLED
  'sys-err', // ESME_RSYSERR
  'reject-part', // an error for part `arg` of concatenated messages
  'already-bound', // ESME_RALYBND to binds
  'unbind', // sends unbind instead of answering a submit
  'garbage', // sends random bytes instead of answering a submit
  'bad-length', // sends a PDU of length `arg`, or 0, 3, 15, 10^9 in turn
  'unknown-command', // sends an undefined command, then continues
  'generic-nack', // answers a submit with generic_nack
  'slow-read', // reads a little at a time
  'byte-at-a-time', // writes a byte at a time
  'receipt-before-resp',
  'duplicate-receipt',
  'out-of-order-receipts', // each second receipt overtakes the one before
  'receipt-other-bind', // never on the bind that submitted
  'no-receipt',
  'no-query-resp',
  'no-cancel-resp',
  'cancel-fail', // ESME_RCANCELFAIL to each cancel_sm
  'long-id', // message ids of `arg` characters that differ at their end
  'preceding-receipt', // a receipt before the final one: message_state `arg`, a vendor-specific word when undefined
  'long-err', // receipts whose err has `arg` characters
  'odd-status', // an undefined status, another one each time
] as const;
export type FaultName = (typeof faultNames)[number];

export type FaultArgs = {
  /** Only for the next N matching PDUs; absent: until cleared. */
  limit?: number;
  /** Part number for reject-part, length for bad-length, long-id and long-err, delay for queue-full, a message_state. */
  arg?: number;
  /** For drop, unbind, garbage, bad-length, unknown-command: once, on every session, at once. */
  now?: boolean;
};

export function isFaultName(text: string): text is FaultName {
  return (faultNames as readonly string[]).includes(text);
}

/** `reject-part:2` → name and argument; undefined for an unknown name. */
export function parseFault(text: string): { name: FaultName; args: FaultArgs } | undefined {
  const [name = '', arg] = text.split(':');
  if (!isFaultName(name)) return undefined;
  if (arg === undefined) return { name, args: {} };
  return /^\d+$/.test(arg) ? { name, args: { arg: Number(arg) } } : undefined;
}

export class Faults {
  readonly #active = new Map<FaultName, { left: number; arg: number | undefined }>();

  set(name: FaultName, args: FaultArgs): void {
    this.#active.set(name, { left: args.limit ?? Number.POSITIVE_INFINITY, arg: args.arg });
  }

  clear(): void {
    this.#active.clear();
  }

  /** Nearly always false: a cheap test for the hot path. */
  get any(): boolean {
    return this.#active.size > 0;
  }

  has(name: FaultName): boolean {
    return this.#active.size > 0 && this.#active.has(name);
  }

  argOf(name: FaultName): number | undefined {
    return this.#active.get(name)?.arg;
  }

  /** True when the fault applies now; counts it against its limit. */
  take(name: FaultName): boolean {
    if (this.#active.size === 0) return false;
    const fault = this.#active.get(name);
    if (!fault) return false;
    fault.left -= 1;
    if (fault.left <= 0) this.#active.delete(name);
    return true;
  }

  names(): FaultName[] {
    return [...this.#active.keys()];
  }
}
