// A carrier's actor between its real neighbours, for benches of pacing and lanes: a real nats-server, the actors
// process with its threads, the simulator in a process of its own. No doors and no ClickHouse: what is measured is
// the way from the stream to the carrier, and two cores are little for all of it.
import { watchAside } from '../../cluster/bus/aside-beacon.ts';
import { bodyCipher } from '../../cluster/bus/body-cipher.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import type { CarrierConfig } from '../../cluster/config/configuration.ts';
import { until } from '../../platform/deadline.ts';
import { type TestBus, startBus } from '../../test/support/bus.ts';
import { type HostChild, bodyKey, carrierWith, startHostChild } from '../../test/support/carrier-house.ts';
import type { BusLoad } from '../load/bus-load.ts';
import { type FarEnd, type FarEndOptions, startFarEnd } from './far-end.ts';

export type LinkOptions = FarEndOptions & {
  /** The contract, which is also the simulator's limit. */
  readonly tps: number;
  readonly window: number;
};

export type CarrierLink = TestBus & {
  readonly farEnd: FarEnd;
  readonly carrier: string;
  /** What every load to this carrier shares. */
  readonly load: Pick<BusLoad, 'publisher' | 'cipher' | 'carrier' | 'queues'>;
  /** Starts the actors process; what was published before waits for it. Resolves when the carrier is bound. */
  startActors(): Promise<HostChild>;
};

const bindsPerCarrier = 2;
/** As the product has it (host-pool.ts): two minutes at 5,000 per second are remembered. */
const threadMemoryMb = 1_024;

export async function openCarrierLink(options: LinkOptions): Promise<CarrierLink> {
  const farEnd = await startFarEnd('bench', options);
  const bus = await startBus('bench');
  const publisher = new Publisher(bus.bus, { deadlineMs: 60_000 });
  const queues = watchAside(bus.bus);
  const carrier = carrierOf(farEnd, options);
  let host: HostChild | null = null;
  return {
    ...bus,
    farEnd,
    carrier: carrier.name,
    load: { publisher, cipher: bodyCipher(bodyKey), carrier: carrier.name, queues },
    async startActors() {
      host = await startHostChild(bus, [carrier], 1, null, null, threadMemoryMb);
      await until('the carrier is bound', async () => (await farEnd.stats()).binds.now === bindsPerCarrier);
      return host;
    },
    async stop() {
      await host?.kill9();
      publisher.close();
      queues.stop();
      await bus.stop();
      await farEnd.stop();
    },
  };
}

function carrierOf(farEnd: FarEnd, { tps, window }: LinkOptions): CarrierConfig {
  const { port, systemId, password } = farEnd;
  const bind = { port, systemId, password, window, count: bindsPerCarrier };
  return carrierWith(farEnd, { name: 'alpha', tps, bind });
}
