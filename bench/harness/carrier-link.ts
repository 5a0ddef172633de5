// A carrier's actor with real peers, for benches of pacing and lanes: a real nats-server, the actors process with its
// threads, the simulator in a process of its own. No entry points and no ClickHouse: the path from the stream to the
// carrier is measured, on two cores.
import { watchOverflow } from '../../cluster/bus/overflow-heartbeat.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import type { CarrierConfig } from '../../config/configuration.ts';
import { until } from '../../platform/deadline.ts';
import { type TestBus, startBus } from '../../test/support/bus.ts';
import { carrierWith } from '../../test/support/carrier-harness.ts';
import { type HostChild, bodyKey, startHostChild } from '../../test/support/host-process.ts';
import type { BusLoad } from '../load/bus-load.ts';
import { type SmscPeer, type SmscPeerOptions, startSmscPeer } from './smsc-peer.ts';

export type LinkOptions = SmscPeerOptions & {
  /** The contract, which is also the simulator's limit. */
  readonly tps: number;
  readonly window: number;
};

/** Common to every load for one carrier. */
export type SharedLoad = Pick<BusLoad, 'publisher' | 'cipher' | 'carrier' | 'queues'>;

export type CarrierLink = TestBus & {
  readonly smscPeer: SmscPeer;
  readonly carrier: string;
  readonly load: SharedLoad;
  /** Starts the actors process; what was published before waits for it. Resolves when the carrier is bound. */
  startActors(): Promise<HostChild>;
};

const bindsPerCarrier = 2;
/** As in host-pool.ts: two minutes at 5,000 per second are kept in memory. */
const threadMemoryMb = 1_024;

export async function openCarrierLink(options: LinkOptions): Promise<CarrierLink> {
  const smscPeer = await startSmscPeer('bench', options);
  const bus = await startBus('bench');
  const carrier = carrierAt(smscPeer, { name: 'alpha', ...options, binds: bindsPerCarrier });
  const { load, close } = openLoad(bus.bus, carrier.name);
  let host: HostChild | null = null;
  return {
    ...bus,
    smscPeer,
    carrier: carrier.name,
    load,
    async startActors() {
      host = await startHostChild(bus.nats.url, [carrier], { threadMemoryMb });
      await until('the carrier is bound', async () => (await smscPeer.stats()).binds.now === bindsPerCarrier);
      return host;
    },
    async stop() {
      await host?.kill9();
      close();
      await bus.stop();
      await smscPeer.stop();
    },
  };
}

export function openLoad(bus: Bus, carrier: string): { readonly load: SharedLoad; close(): void } {
  const publisher = new Publisher(bus, { deadlineMs: 60_000 });
  const queues = watchOverflow(bus);
  return {
    load: { publisher, cipher: bodyCipher(bodyKey), carrier, queues },
    close() {
      publisher.close();
      queues.stop();
    },
  };
}

type CarrierOptions = { readonly name: string; readonly tps: number; readonly window: number; readonly binds: number };

/** The SMSC peer as a carrier. */
export function carrierAt(smscPeer: SmscPeer, { name, tps, window, binds }: CarrierOptions): CarrierConfig {
  const { port, systemId, password } = smscPeer;
  return carrierWith(smscPeer, { name, tps, bind: { port, systemId, password, window, count: binds } });
}
