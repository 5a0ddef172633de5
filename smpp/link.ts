// Sends and receives PDUs over one socket. All PDUs written in one turn of the event loop leave in one socket write. It
// bounds the octets that the peer has not read: past the soft bound `writable` is false, past the hard bound it stops
// reading. Client and server use it; it knows no session, state or window.
import type { Socket } from 'node:net';
import { type Cancel, type Clock, systemClock } from '../platform/clock.ts';
import { CloseSession, messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { encodeBare, encodeMessageId, encodeShortMessage, shortMessageRoom } from './codec-hot.ts';
import { decodePdu } from './codec.ts';
import type { PduTap, SessionEnds } from './flight/contract.ts';
import { Framer } from './framing.ts';
import type { MessageIdPdu, Pdu, ShortMessage } from './pdu.ts';

type LinkHandlers = {
  onPdu(pdu: Pdu): void;
  /** All PDUs of one chunk were passed on. */
  onBatchEnd?(): void;
  /** `writable` was false and is true again. */
  onWritable?(): void;
  /** The peer sent octets that are no PDU. The link has closed itself. */
  onBroken(error: CloseSession): void;
  /** The connection ended without our end() or destroy(). */
  onGone(why: string): void;
};

/** Writes octets to the socket; the simulator injects its faults here. */
export type WriteBytes = (socket: Socket, bytes: Buffer) => void;

export class Link {
  readonly socket: Socket;
  readonly #handlers: LinkHandlers;
  readonly #clock: Clock;
  readonly #write: WriteBytes;
  readonly #tap: PduTap | undefined;
  readonly #onFrame = (buffer: Buffer, start: number, end: number): void => {
    if (this.#ended) return;
    this.#tap?.received(buffer, start, end);
    this.#handlers.onPdu(decodePdu(buffer, start, end));
  };
  readonly #framer = new Framer(this.#onFrame);
  #slab = Buffer.allocUnsafeSlow(limits.smpp.slabBytes);
  #from = 0;
  #at = 0;
  #flushAsked = false;
  #blocked = false;
  #ended = false;
  #lastError = '';
  #cancelDestroy: Cancel | undefined;

  constructor(
    socket: Socket,
    handlers: LinkHandlers,
    clock: Clock = systemClock,
    write: WriteBytes = writeBytes,
    tap?: PduTap,
  ) {
    this.socket = socket;
    this.#handlers = handlers;
    this.#clock = clock;
    this.#write = write;
    this.#tap = tap;
    socket.setNoDelay(true);
    const onData = (chunk: Buffer) => this.#onData(chunk);
    socket.on('data', onData);
    socket.on('drain', () => this.#onDrained());
    socket.on('error', (error) => (this.#lastError = messageOf(error)));
    // The peer sent FIN; half-open sessions are useless in SMPP.
    socket.on('end', () => socket.end());
    socket.on('close', () => this.#onClose());
  }

  /** The addresses of the connection; empty while it is not connected. */
  get ends(): SessionEnds {
    const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = this.socket;
    return { localAddress, localPort, remoteAddress, remotePort, tls: 'encrypted' in this.socket };
  }

  /** Octets written here that the peer's TCP has not accepted yet. */
  get buffered(): number {
    return this.socket.writableLength + (this.#at - this.#from);
  }

  /** False: wait for onWritable before further submits. */
  get writable(): boolean {
    if (this.buffered < limits.smpp.writeBytesSoft) return true;
    this.#blocked = true;
    return false;
  }

  sendShortMessage(command: 'submit_sm' | 'deliver_sm', sequence: number, message: ShortMessage): void {
    if (this.#ended) return;
    this.#room(shortMessageRoom(message));
    this.#wrote(encodeShortMessage(this.#slab, this.#at, command, sequence, message));
  }

  sendMessageId(command: MessageIdPdu['command'], status: number, sequence: number, messageId: string): void {
    if (this.#ended) return;
    this.#room(32 + messageId.length);
    this.#wrote(encodeMessageId(this.#slab, this.#at, command, status, sequence, messageId));
  }

  sendBare(command: number, status: number, sequence: number): void {
    if (this.#ended) return;
    this.#room(16);
    this.#wrote(encodeBare(this.#slab, this.#at, command, status, sequence));
  }

  sendBytes(bytes: Buffer): void {
    if (this.#ended) return;
    this.#room(bytes.length);
    this.#wrote(this.#at + bytes.copy(this.#slab, this.#at));
  }

  /** Sends what is written, then closes; destroys the socket after a second if the peer does not read it. */
  end(): void {
    if (this.#ended) return;
    this.#flush();
    this.#ended = true;
    this.socket.resume();
    this.socket.end();
    this.#cancelDestroy = this.#clock.after(lastWordsMs, () => this.socket.destroy());
  }

  /** As destroy(), and octets that the system has not sent yet are discarded. */
  reset(): void {
    this.#ended = true;
    this.#cancelDestroy?.();
    // Only TCP can reset; TLS has already passed its encrypted octets on.
    if (this.socket.connecting || 'encrypted' in this.socket) this.socket.destroy();
    else this.socket.resetAndDestroy();
  }

  destroy(): void {
    this.#ended = true;
    this.#cancelDestroy?.();
    this.socket.destroy();
  }

  #onData(chunk: Buffer): void {
    if (this.#ended) return;
    try {
      this.#framer.push(chunk);
    } catch (error) {
      if (!(error instanceof CloseSession)) throw error;
      if (this.#ended) return;
      this.end();
      this.#handlers.onBroken(error);
      return;
    }
    if (this.#ended) return;
    this.#handlers.onBatchEnd?.();
    if (this.buffered > limits.smpp.writeBytesHard) {
      this.#blocked = true;
      this.socket.pause();
    }
  }

  // A PDU is in the slab from #at to `end`.
  #wrote(end: number): void {
    this.#tap?.sent(this.#slab, this.#at, end);
    this.#at = end;
    this.#askFlush();
  }

  #room(bytes: number): void {
    if (this.#slab.length - this.#at >= bytes) return;
    this.#flush();
    this.#slab = Buffer.allocUnsafeSlow(Math.max(limits.smpp.slabBytes, bytes));
    this.#from = 0;
    this.#at = 0;
  }

  // setImmediate, not a microtask: the responses to everything that one poll returned leave together.
  #askFlush(): void {
    if (this.#flushAsked) return;
    this.#flushAsked = true;
    setImmediate(this.#flushNow);
  }

  readonly #flushNow = (): void => {
    this.#flushAsked = false;
    if (this.#ended) return;
    this.#flush();
    // Called only from here and from 'drain', never from within a send: the owner would send recursively.
    if (this.#blocked && !this.socket.writableNeedDrain) this.#onDrained();
  };

  #flush(): void {
    if (this.#at === this.#from || this.socket.destroyed) return;
    // The socket keeps this view until it is sent, so these octets of the slab are never overwritten.
    const bytes = this.#slab.subarray(this.#from, this.#at);
    this.#from = this.#at;
    this.#write(this.socket, bytes);
  }

  #onDrained(): void {
    if (!this.#blocked || this.#ended || this.buffered >= limits.smpp.writeBytesSoft) return;
    this.#blocked = false;
    if (this.socket.isPaused()) this.socket.resume();
    this.#handlers.onWritable?.();
  }

  #onClose(): void {
    this.#cancelDestroy?.();
    if (this.#ended) return;
    this.#ended = true;
    this.#handlers.onGone(this.#lastError || 'the peer closed the connection');
  }
}

const lastWordsMs = 1_000;
const writeBytes: WriteBytes = (socket, bytes) => {
  socket.write(bytes);
};
