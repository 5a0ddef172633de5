// The records of the bucket `leases`, as text: one heartbeat per living actor thread, one lease per bind with an owner.
// Encoded and decoded only here. A value of another form is decoded as null.
import { createHash } from 'node:crypto';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';

/** One incarnation of an actor thread. */
export type Holder = {
  /** The machine's name for operators; two machines must not share one. */
  readonly node: string;
  readonly thread: string;
  /** Where it runs: a thread of the same node elsewhere is another process under our name. */
  readonly place: string;
  /** One incarnation of the process. */
  readonly process: string;
  /** One incarnation of this owner of leases; it ends when it is declared dead. */
  readonly incarnation: string;
};

export type Heartbeat = Holder & {
  /** The revision of this incarnation's first heartbeat; 0 in that heartbeat itself. */
  readonly epoch: number;
  /** Carriers whose actor here has replayed and can take a bind. */
  readonly carriers: readonly string[];
};

export type Lease = Holder & {
  /** For operators: `alpha/2`. */
  readonly bind: string;
};

const safe = /[^a-zA-Z0-9_-]/g;

export function heartbeatKey({ node, thread }: Pick<Holder, 'node' | 'thread'>): string {
  return `node.${node.replaceAll(safe, '_')}.${thread.replaceAll(safe, '_')}`;
}

export function isHeartbeatKey(key: string): boolean {
  return key.startsWith('node.');
}

/**
 * The key of one bind's lease, derived from all that identifies the session, so that two nodes in the middle of a
 * configuration change never mean two sessions by one key. `ordinal` counts equals.
 */
export function bindKey(carrier: string, identity: readonly (string | number)[], ordinal: number): string {
  const digest = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 16);
  return `bind.${carrier}.${digest}-${ordinal}`;
}

export function encodeRecord(record: Heartbeat | Lease): Uint8Array {
  return encoder.encode(JSON.stringify({ v: 1, ...record }));
}

export function readHeartbeat(value: Uint8Array | null): Heartbeat | null {
  const decoded = readHolder(value);
  if (decoded === null) return null;
  const { holder, rest } = decoded;
  const { epoch, carriers } = rest;
  if (typeof epoch !== 'number' || !Array.isArray(carriers)) return null;
  return { ...holder, epoch, carriers: carriers.filter((each) => typeof each === 'string') };
}

export function readLease(value: Uint8Array | null): Lease | null {
  const decoded = readHolder(value);
  return decoded === null || typeof decoded.rest['bind'] !== 'string'
    ? null
    : { ...decoded.holder, bind: decoded.rest['bind'] };
}

function readHolder(value: Uint8Array | null): { holder: Holder; rest: Record<string, unknown> } | null {
  if (value === null || value.length > limits.leases.valueBytesMax) return null;
  try {
    const rest = JSON.parse(decoder.decode(value)) as Record<string, unknown>;
    const { node, thread, place, process, incarnation } = rest;
    for (const each of [node, thread, place, process, incarnation]) if (typeof each !== 'string') return null;
    return { holder: { node, thread, place, process, incarnation } as Holder, rest };
  } catch (error) {
    ignoring(error, 'something that is neither a heartbeat nor a lease is in the bucket of leases');
    return null;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
