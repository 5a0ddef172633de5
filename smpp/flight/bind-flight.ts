// The flight recorder of one bind: the last PDUs of its sessions in both directions, masked as they are recorded. Its
// memory is allocated with the first session and kept by the owner, so that a lost session can still be inspected. It
// runs on the hot path, and an error in it never affects the session.
import type { Clock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { FlightPiece, FlightSummary, PduTap, SessionEnds } from './contract.ts';
import { PduRing, type RecordKind, recordKind } from './pdu-ring.ts';
import { redactPdu } from './redact.ts';

/** Octets for one bind of a carrier with `binds` binds. */
export function bindFlightBytes(binds: number): number {
  const { carrierBytes, bindBytesMax, bindBytesMin } = limits.flight;
  const share = Math.floor(carrierBytes / Math.max(1, binds) / 4_096) * 4_096;
  return Math.min(bindBytesMax, Math.max(bindBytesMin, share));
}

export class BindFlight implements PduTap {
  readonly #bytes: number;
  readonly #clock: Clock;
  #ring: PduRing | null = null;
  /** The opening record of the session that the oldest records belong to, after it was overwritten. */
  #session: string | null = null;
  #isOpen = false;
  #sessions = 0;
  #sent = 0;
  #received = 0;

  constructor(bytes: number, clock: Clock) {
    this.#bytes = bytes;
    this.#clock = clock;
  }

  get summary(): FlightSummary {
    const bytes = this.#ring === null ? 0 : this.#ring.head - this.#ring.tail;
    return { sessions: this.#sessions, sent: this.#sent, received: this.#received, bytes };
  }

  opened(ends: SessionEnds): void {
    this.#ring ??= new PduRing(this.#bytes, (kind, from, to) => {
      if (kind === recordKind.opened) this.#session = this.#ring?.memory.toString('utf8', from, to) ?? null;
    });
    this.#sessions += 1;
    this.#isOpen = true;
    this.#note(recordKind.opened, ends);
  }

  sent(buffer: Buffer, start: number, end: number): void {
    this.#sent += 1;
    this.#put(recordKind.sent, buffer, start, end);
  }

  received(buffer: Buffer, start: number, end: number): void {
    this.#received += 1;
    this.#put(recordKind.received, buffer, start, end);
  }

  closed(why: string, by: 'us' | 'peer'): void {
    // A connection that never opened has no session to close.
    if (this.#isOpen) this.#note(recordKind.closed, { why, by });
    this.#isOpen = false;
  }

  /** Records from position `from` on, at most `bytesMax` octets; null before the first session. */
  read(from: number, bytesMax: number): FlightPiece | null {
    const ring = this.#ring;
    if (ring === null) return null;
    const atTail = from <= ring.tail;
    const piece = ring.read(from, bytesMax);
    const lost = from > 0 && piece.from > from ? piece.from - from : 0;
    return { ...piece, lost, head: ring.head, session: atTail ? this.#session : null };
  }

  #put(kind: RecordKind, buffer: Buffer, start: number, end: number): void {
    const ring = this.#ring;
    if (ring === null) return;
    const at = ring.put(kind, this.#clock.monotonicMs(), buffer, start, end);
    if (at < 0) return;
    const stop = at + end - start;
    try {
      redactPdu(ring.memory, at, stop);
    } catch (error) {
      // A bug in the masking must neither end the session nor leave data unmasked.
      ring.memory.fill(0, at + 16, stop);
      ignoring(error, 'a PDU could not be masked: only its header was recorded');
    }
  }

  #note(kind: RecordKind, facts: object): void {
    const octets = Buffer.from(JSON.stringify(facts));
    this.#ring?.put(kind, this.#clock.monotonicMs(), octets, 0, octets.length);
  }
}
