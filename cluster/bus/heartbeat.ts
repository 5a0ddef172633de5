// Heartbeats of carriers over core NATS: actors publish one at every change and every second, others keep the last one
// of each node. Nothing is durable, because it is outdated a minute later; after a lost heartbeat the next one counts.
// It interprets none.
import type { Cancel, Clock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from './connect.ts';

export type Heartbeat = {
  readonly carrier: string;
  /** Who publishes: several nodes may serve one carrier. */
  readonly node: string;
};

/**
 * One kind of heartbeat, on a subject per carrier. `parse` gives null for what is none of this kind; fields it does not
 * know are of a later version.
 */
export function heartbeatSubject<H extends Heartbeat>(
  prefix: string,
  bytesMax: number,
  parse: (fields: Partial<Record<keyof H, unknown>>, from: Heartbeat) => H | null,
) {
  /** Null for what is no heartbeat: something else may speak on the subject. */
  function read(octets: Uint8Array): H | null {
    if (octets.length > bytesMax) return null;
    try {
      const fields = JSON.parse(Buffer.from(octets).toString('utf8')) as Partial<Record<keyof H, unknown>>;
      const { carrier, node } = fields;
      return typeof carrier === 'string' && typeof node === 'string' ? parse(fields, { carrier, node }) : null;
    } catch (error) {
      ignoring(error, 'something that is no heartbeat came on the subject of heartbeats');
      return null;
    }
  }

  return {
    read,
    publish(bus: Bus, heartbeat: H): void {
      // Written into a lost connection it would arrive late, and then be wrong.
      if (bus.connected()) bus.connection.publish(`${prefix}.${heartbeat.carrier}`, JSON.stringify(heartbeat));
    },
    watch(bus: Bus, take: (heartbeat: H) => void): Cancel {
      const subscription = bus.connection.subscribe(`${prefix}.*`, {
        callback: (error, message) => {
          if (error !== null) return ignoring(error, 'heartbeats of carriers cannot be received at the moment');
          const heartbeat = read(message.data);
          if (heartbeat !== null) take(heartbeat);
        },
      });
      return () => subscription.unsubscribe();
    },
  };
}

type Received<H extends Heartbeat> = { readonly heartbeat: H; readonly atMs: number };

/** The last heartbeat of each node, by carrier. */
export class LastHeartbeats<H extends Heartbeat> {
  protected readonly clock: Clock;
  /** When one came last, of any carrier. */
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

  /** The oldest first; undefined when none was heard of. */
  protected of(carrier: string): Iterable<Received<H>> | undefined {
    return this.#carriers.get(carrier)?.values();
  }
}
