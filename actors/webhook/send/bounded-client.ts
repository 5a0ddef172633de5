// One connection at a time to a receiver, on which the octets that arrive for a request are counted as the socket reads
// them. undici bounds headers and the sender bounds the body; chunk extensions, blank lines, a reason phrase and 1xx
// responses are neither, and a receiver can send them for ever. Its pool opens one of these for each connection.
import type { Socket } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import { limits } from '../../../platform/limits.ts';

/** A request says when it begins, and is called when its response is too long. */
export type BoundedHandler = Dispatcher.DispatchHandler & { usesConnection(connection: BoundedClient): void };

const { responseOctetsMax } = limits.delivery;

export class BoundedClient extends Client {
  #socket: Socket | null = null;
  /** Octets that had arrived on the connection when its present or last request began. */
  #readBefore = 0;
  #tooLong: () => void = () => {};

  constructor(origin: URL, options: Client.Options, connect: () => Promise<Socket>) {
    super(origin, {
      ...options,
      connect: (_options, connected) => {
        connect().then(
          (socket) => {
            this.#socket = socket;
            this.#readBefore = 0;
            connected(null, socket);
            // Behind undici's own listener: what decides the result may be in the same read as what is too much.
            socket.on('readable', () => this.#look(socket));
          },
          (error: unknown) => connected(error as Error, null),
        );
      },
    });
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    (handler as BoundedHandler).usesConnection(this);
    return super.dispatch(options, handler);
  }

  /** A request is written now. What comes between two requests counts as that of the one before. */
  begin(tooLong: () => void): void {
    this.#readBefore = this.#socket?.bytesRead ?? 0;
    this.#tooLong = tooLong;
  }

  #look(socket: Socket): void {
    if (socket.destroyed || socket.bytesRead - this.#readBefore <= responseOctetsMax) return;
    this.#tooLong();
    // Nobody waits for what comes between requests.
    socket.destroy();
  }
}
