// A fact as octets in FACTS: JSON, because an operator may read it and it is rare beside delivery events. A version that
// this code does not know is refused, and goes to DEAD.
import type { Fact } from '../fact.ts';
import { RejectMessage } from '../../platform/errors.ts';
import { jsonObjectIn } from '../../platform/json.ts';

const version = 1;
const kinds: ReadonlySet<unknown> = new Set<Fact['kind']>(['otp', 'guard', 'click']);

export function encodeFact(fact: Fact): Buffer {
  return Buffer.from(JSON.stringify({ v: version, ...fact }));
}

/** Throws RejectMessage('poison_record') when the octets are no record this version can read. */
export function decodeFact(octets: Uint8Array): Fact {
  const stored = jsonObjectIn(octets);
  if (stored === null || stored['v'] !== version || !kinds.has(stored['kind'])) {
    throw new RejectMessage('poison_record', 'not a readable record of FACTS');
  }
  const { v: _, ...fact } = stored;
  return fact as unknown as Fact;
}
