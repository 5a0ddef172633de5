// Which faults the simulator is asked to play, and how many times each. Names and bookkeeping only; what a fault
// does stands where it happens (smsc-session.ts, smsc.ts, deliveries.ts).

export const faultNames = [
  'stall', // stops reading and answering
  'drop', // destroys the socket
  'no-resp', // takes submits and never answers them
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
  'unknown-command', // sends a command nobody knows, then goes on
  'generic-nack', // answers a submit with generic_nack
  'slow-read', // reads a little at a time
  'byte-at-a-time', // writes a byte at a time
  'receipt-before-resp',
  'duplicate-receipt',
  'out-of-order-receipts', // each second receipt overtakes the one before
  'receipt-other-bind', // never on the bind that submitted
  'no-receipt',
  'no-query-resp',
  'long-id', // message ids of `arg` characters that differ at their end
  'preceding-receipt', // a receipt that is not the last: message_state `arg`, a word of its own when that is none
  'long-err', // receipts whose err has `arg` characters
  'odd-status', // a status nobody named, another one each time
] as const;
export type FaultName = (typeof faultNames)[number];

export type FaultArgs = {
  /** Only for the next N PDUs it applies to; without it until cleared. */
  limit?: number;
  /** Part number for reject-part, length for bad-length, long-id and long-err, delay for queue-full, a message_state. */
  arg?: number;
  /** drop, unbind, garbage, bad-length, unknown-command: once, on every session, at once. Nothing stays active. */
  now?: boolean;
};

export function isFaultName(text: string): text is FaultName {
  return (faultNames as readonly string[]).includes(text);
}

/** `reject-part:2` → name and argument; undefined for a name nobody knows. */
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

  /** False on the hot path nearly always: then nothing else here is asked. */
  get any(): boolean {
    return this.#active.size > 0;
  }

  has(name: FaultName): boolean {
    return this.#active.size > 0 && this.#active.has(name);
  }

  argOf(name: FaultName): number | undefined {
    return this.#active.get(name)?.arg;
  }

  /** True when the fault is to be played now; counts it against its limit. */
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
