// Parses recorded octets into records with time and octets. It validates everything, because they may come from another
// version or be truncated.
import { jsonObjectIn } from '../../platform/json.ts';
import { type RecordKind, recordHeadBytes, recordKind } from './pdu-ring.ts';
import type { SessionEnds } from './contract.ts';

export type FlightRecord = {
  readonly kind: RecordKind;
  /** On the recording process's monotonic clock. */
  readonly atMs: number;
  readonly octets: Buffer;
};

/** Stops at the first octets that are no record. */
export function* readRecords(raw: Buffer): Generator<FlightRecord> {
  let at = 0;
  while (at + recordHeadBytes <= raw.length) {
    const size = raw.readUInt32LE(at);
    const word = raw.readUInt32LE(at + 4);
    const octets = word >>> 8;
    if (size < recordHeadBytes + octets || at + size > raw.length) return;
    const from = at + recordHeadBytes;
    const kind = (word & 0xff) as RecordKind;
    if (kind !== recordKind.skip) {
      yield { kind, atMs: raw.readDoubleLE(at + 8), octets: raw.subarray(from, from + octets) };
    }
    at += size;
  }
}

/** The addresses of an opening record; null when the octets contain none. */
export function readEnds(octets: Buffer): SessionEnds | null {
  const fields = jsonObjectIn(octets) ?? {};
  const { localAddress, localPort, remoteAddress, remotePort } = fields;
  if (typeof localAddress !== 'string' || typeof remoteAddress !== 'string') return null;
  if (typeof localPort !== 'number' || typeof remotePort !== 'number') return null;
  return { localAddress, localPort, remoteAddress, remotePort, tls: fields['tls'] === true };
}

/** The side that ended the session, as a closing record says. */
export function closedBy(octets: Buffer): 'us' | 'peer' {
  return jsonObjectIn(octets)?.['by'] === 'peer' ? 'peer' : 'us';
}
