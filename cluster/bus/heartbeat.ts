// Heartbeats over core NATS: of carriers, published by actors at every change and every second, and of clocks.
// Subscribers keep the last one of each node. They are not durable: a minute later they are outdated, and after a lost
// one the next counts. Their content is not interpreted here.
import type { Cancel, Clock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from './connect.ts';

export type Heartbeat = {
  readonly carrier: string;
  /** The publishing node: several nodes may serve one carrier. */
  readonly node: string;
};

type Fields<T> = Partial<Record<keyof T, unknown>>;

/**
 * Messages to all subscribers of `filter`. `parse` returns null for other content and ignores unknown fields, which are
 * of a later version.
 */
export function broadcast<T>(
  filter: string,
  bytesMax: number,
  parse: (fields: Fields<T>) => T | null,
  subjectOf: (value: T) => string = () => filter,
) {
  function read(octets: Uint8Array): T | null {
    if (octets.length > bytesMax) return null;
    try {
      return parse(JSON.parse(Buffer.from(octets).toString('utf8')) as Fields<T>);
    } catch (error) {
      ignoring(error, 'a message on the subject of heartbeats is not a heartbeat');
      return null;
    }
  }

  return {
    /** Null for other content: anything may be published on the subject. */
    read,
    publish(bus: Bus, value: T): void {
      // Buffered during a disconnect it would arrive late and be wrong.
      if (bus.connected()) bus.connection.publish(subjectOf(value), JSON.stringify(value));
    },
    watch(bus: Bus, take: (value: T) => void): Cancel {
      const subscription = bus.connection.subscribe(filter, {
        callback: (error, message) => {
          if (error !== null) return ignoring(error, 'heartbeats cannot be received at the moment');
          const value = read(message.data);
          if (value !== null) take(value);
        },
      });
      return () => subscription.unsubscribe();
    },
  };
}

/** One kind of heartbeat, with one subject per carrier. */
export function heartbeatSubject<H extends Heartbeat>(
  prefix: string,
  bytesMax: number,
  parse: (fields: Fields<H>, from: Heartbeat) => H | null,
) {
  return broadcast<H>(
    `${prefix}.*`,
    bytesMax,
    (fields) => {
      const { carrier, node } = fields;
      return typeof carrier === 'string' && typeof node === 'string' ? parse(fields, { carrier, node }) : null;
    },
    ({ carrier }) => `${prefix}.${carrier}`,
  );
}

type Received<H extends Heartbeat> = { readonly heartbeat: H; readonly atMs: number };

/** The last heartbeat of each node, by carrier. */
export class LastHeartbeats<H extends Heartbeat> {
  protected readonly clock: Clock;
  /** When the last heartbeat of any carrier arrived. */
  protected lastAtMs = Number.NEGATIVE_INFINITY;
  readonly #carriers = new Map<string, Map<string, Received<H>>>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  take(heartbeat: H): void {
    const { carriersMax, nodesMax } = limits.heartbeats;
    const { carrier, node } = heartbeat;
    const atMs = this.clock.monotonicMs();
    this.lastAtMs = atMs;
    let nodes = this.#carriers.get(carrier);
    if (nodes === undefined) {
      if (this.#carriers.size >= carriersMax) return;
      nodes = new Map();
      this.#carriers.set(carrier, nodes);
    }
    nodes.delete(node);
    nodes.set(node, { heartbeat, atMs });
    if (nodes.size > nodesMax) for (const oldest of nodes.keys()) if (nodes.size > nodesMax) nodes.delete(oldest);
  }

  protected forget({ carrier, node }: Heartbeat): void {
    const nodes = this.#carriers.get(carrier);
    nodes?.delete(node);
    if (nodes?.size === 0) this.#carriers.delete(carrier);
  }

  /** The oldest first; undefined without any. */
  protected of(carrier: string): Iterable<Received<H>> | undefined {
    return this.#carriers.get(carrier)?.values();
  }
}
