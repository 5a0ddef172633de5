// The interfaces of the flight recorder: what a session reports to a tap, and what a reader of a recording gets. Types
// only; a tap never changes or keeps the octets.

/** The addresses of a session's connection. */
export type SessionEnds = {
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly tls: boolean;
};

/** Called synchronously on the hot path. None may throw; the buffers are valid only during the call. */
export type PduTap = {
  /** The connection is open. */
  opened(ends: SessionEnds): void;
  /** A PDU was handed to the socket: buffer[start, end). */
  sent(buffer: Buffer, start: number, end: number): void;
  /** A complete PDU was received, not yet decoded: buffer[start, end). */
  received(buffer: Buffer, start: number, end: number): void;
  /** `by`: the side that ended the connection, as far as known. */
  closed(why: string, by: 'us' | 'peer'): void;
};

/** A part of a bind's recording: complete records. */
export type FlightPiece = {
  readonly records: Buffer;
  /** Position of the first record: later than requested when that was overwritten. */
  readonly from: number;
  readonly next: number;
  /** Requested octets that were overwritten meanwhile. */
  readonly lost: number;
  /** The end of the recording now. */
  readonly head: number;
  /** The session of the first record, when its opening record was overwritten; else null. */
  readonly session: string | null;
};

export type FlightSummary = {
  readonly sessions: number;
  readonly sent: number;
  readonly received: number;
  /** Octets that can be read now. */
  readonly bytes: number;
};
