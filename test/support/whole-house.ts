// The whole system between a client with the demo account's live key and three carriers: what most tests of the whole
// stand on. The carriers and the clients live in this process, so they outlast every end of the system.
import { type FarEndOptions, type FarEnds, startFarEnds } from './far-ends.ts';
import { SmsClient } from './sms-client.ts';
import { endSystems } from './system.ts';
import { type WholeSystem, startWholeSystem } from './whole-system.ts';

export type WholeHouse = {
  readonly farEnds: FarEnds;
  /** The one that runs now. */
  readonly system: WholeSystem;
  readonly client: SmsClient;
  /** Its heliograph.yaml. */
  readonly configuration: string;
  clientOf(key: string): SmsClient;
  /** Starts the system, which has ended, on what it left. */
  startAgain(): Promise<void>;
  stop(): Promise<void>;
};

export type WholeHouseOptions = FarEndOptions & {
  /** Makes heliograph.yaml from that of the carriers. */
  readonly configured?: (configuration: string) => string;
};

export async function openWholeHouse(options: WholeHouseOptions = {}): Promise<WholeHouse> {
  const farEnds = await startFarEnds(options);
  const configuration = options.configured?.(farEnds.configuration) ?? farEnds.configuration;
  const clients: SmsClient[] = [];
  const stop = async () => {
    for (const client of clients) client.close();
    await endSystems();
    await farEnds.close();
  };
  const start = (before?: WholeSystem) =>
    startWholeSystem(configuration, before).catch(async (error: unknown) => {
      await stop();
      throw error;
    });
  let system = await start();
  const clientOf = (key: string) => {
    const client = new SmsClient(system.httpPort, key);
    clients.push(client);
    return client;
  };
  return {
    farEnds,
    get system() {
      return system;
    },
    client: clientOf(system.keys.liveKey),
    configuration,
    clientOf,
    async startAgain() {
      system = await start(system);
    },
    stop,
  };
}
