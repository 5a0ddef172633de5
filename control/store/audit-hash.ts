// The hash chain of the audit log: each row's SHA-256 is over the hash of the row before and a canonical text of its
// own. The text is the same for a row to be written and for the row that PostgreSQL returns. Pure.
import { createHash } from 'node:crypto';

/** A row without its hashes. Times in whole milliseconds, which PostgreSQL keeps exactly. */
type ChainedFacts = {
  /** 1 for the first row, one more for each. */
  readonly seq: number;
  readonly recordedAtMs: number;
  readonly atMs: number;
  readonly accountId: string | null;
  readonly actor: string;
  readonly origin: string;
  readonly action: string;
  readonly target: string;
  readonly recordId: string | null;
  readonly detail: unknown;
};

/** The hash before the first row. */
export const genesisHash = Buffer.alloc(32);

export function auditHash(before: Uint8Array, facts: ChainedFacts): Buffer {
  return createHash('sha256').update(before).update(canonicalText(facts)).digest();
}

/** A list, so that values cannot be confused; its first element is the version of this form. */
function canonicalText(facts: ChainedFacts): string {
  const { seq, recordedAtMs, atMs, accountId, actor, origin, action, target, recordId, detail } = facts;
  return JSON.stringify([
    'v1',
    seq,
    recordedAtMs,
    atMs,
    accountId,
    actor,
    origin,
    action,
    target,
    recordId,
    sorted(JSON.parse(JSON.stringify(detail))),
  ]);
}

/** Sorts keys, because jsonb does not keep their order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inside]) => [name, sorted(inside)]));
}
