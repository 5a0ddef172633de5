// The TCP transport of the NATS client, which hands what is sent in one turn of the event loop to the kernel in one system
// call. The client itself writes at the end of each microtask queue, so a thread that answers ten requests in a turn made
// ten writes, and woke nats-server for each (decision 176).
import type { Socket } from 'node:net';
import {
  type ConnectionOptions,
  type NatsConnection,
  NatsConnectionImpl,
  setTransportFactory,
} from '@nats-io/transport-node';
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js';

class GatheringTransport extends NodeTransport {
  override send(frame: Uint8Array): void {
    const { socket } = this;
    if (this.connected && socket.writableCorked === 0) {
      socket.cork();
      // After the I/O of this turn.
      setImmediate(() => socket.uncork());
    }
    super.send(frame);
  }

  /** Writes what it has gathered first: the client closes a connection without waiting for writes. */
  override close(error?: Error): Promise<void> {
    // Before a connection, and after its end, there is none.
    (this.socket as Socket | undefined)?.uncork();
    return super.close(error);
  }
}

/** As `connect` of the package, over this transport. */
export function connectGathering(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new GatheringTransport(), dnsResolveFn: nodeResolveHost });
  return NatsConnectionImpl.connect(options);
}
