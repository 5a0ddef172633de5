// What a session shows to whoever watches it, and a recording of it to whoever reads that. Types only; a watcher hears
// octets, and never changes or keeps them.

/** Where the two ends of a session are. */
export type SessionEnds = {
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly tls: boolean;
};

/** Called synchronously, on the hot path. None may throw, and the octets are only lent. */
export type PduTap = {
  /** The connection is open. */
  opened(ends: SessionEnds): void;
  /** A PDU was handed to the socket: buffer[start, end). */
  sent(buffer: Buffer, start: number, end: number): void;
  /** A PDU came, whole: buffer[start, end). Nobody has looked at it yet. */
  received(buffer: Buffer, start: number, end: number): void;
  /** `by`: who ended the connection, as far as is known. */
  closed(why: string, by: 'us' | 'peer'): void;
};

/** A piece of a bind's recording: whole records. */
export type FlightPiece = {
  readonly records: Buffer;
  readonly from: number;
  readonly next: number;
  /** Octets asked for and overwritten meanwhile. */
  readonly lost: number;
  /** Where the recording ends at this moment. */
  readonly head: number;
  /** The session the first record belongs to, when its opening is no longer recorded; else null. */
  readonly session: string | null;
};

export type FlightSummary = {
  readonly sessions: number;
  readonly sent: number;
  readonly received: number;
  /** Octets that can be read now. */
  readonly bytes: number;
};
