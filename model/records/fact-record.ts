// Facts as octets in FACTS: JSON, because an operator may read it. A record has one fact, or several clicks, which come by the
// thousand. A version that this code does not know is refused, and goes to DEAD.
import { hash } from 'node:crypto';
import type { ClickFact, Fact } from '../fact.ts';
import { RejectMessage } from '../../platform/errors.ts';
import { jsonObjectIn } from '../../platform/json.ts';
import { limits } from '../../platform/limits.ts';

const version = 1;
const kinds: ReadonlySet<unknown> = new Set<Fact['kind']>(['otp', 'guard', 'click']);

export function encodeFact(fact: Fact): Buffer {
  return Buffer.from(JSON.stringify({ v: version, ...fact }));
}

/** A record of clicks. `id`: the same clicks in the same order have the same. */
export type ClickFactRecord = { readonly id: string; readonly octets: Buffer; readonly clicks: number };

/** Clicks as records, in their order; none for none. */
export function* clickFactRecords(clicks: readonly ClickFact[]): Generator<ClickFactRecord> {
  const { clicksPerRecordMax, recordBytesMax } = limits.facts;
  let texts: string[] = [];
  let ids = '';
  let octets = 0;
  const take = (): ClickFactRecord => {
    const record = {
      id: hash('sha256', ids, 'base64url'),
      octets: Buffer.from(`{"v":${version},"kind":"clicks","clicks":[${texts.join()}]}`),
      clicks: texts.length,
    };
    texts = [];
    ids = '';
    octets = 0;
    return record;
  };
  for (const click of clicks) {
    const text = JSON.stringify(click);
    const length = Buffer.byteLength(text);
    if (texts.length === clicksPerRecordMax || (texts.length > 0 && octets + length > recordBytesMax)) yield take();
    texts.push(text);
    ids += click.eventId;
    octets += length;
  }
  if (texts.length > 0) yield take();
}

/** The facts of a record, at least one. Throws RejectMessage('poison_record') when this version cannot read the octets. */
export function decodeFacts(octets: Uint8Array): readonly Fact[] {
  const stored = jsonObjectIn(octets);
  if (stored === null || stored['v'] !== version) throw unreadable();
  if (stored['kind'] === 'clicks') return clicksIn(stored['clicks']);
  const { v: _, ...fact } = stored;
  if (!kinds.has(fact['kind'])) throw unreadable();
  return [fact as unknown as Fact];
}

function clicksIn(list: unknown): readonly Fact[] {
  if (!Array.isArray(list) || list.length === 0) throw unreadable();
  for (const each of list as readonly (Partial<Fact> | null)[]) if (each?.kind !== 'click') throw unreadable();
  return list as readonly ClickFact[];
}

const unreadable = () => new RejectMessage('poison_record', 'not a readable record of FACTS');
