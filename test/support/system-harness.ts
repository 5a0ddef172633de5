// The whole system between a client with the demo account's live key and three carriers, for most tests of the whole
// system. The carriers and the clients live in this process, so they outlive every end of the system.
import { type SmscPeerOptions, type SmscPeers, startSmscPeers } from './smsc-peers.ts';
import { SmsClient } from './sms-client.ts';
import { endSystems } from './system.ts';
import { type WholeSystem, startWholeSystem } from './whole-system.ts';

export type SystemHarness = {
  readonly smscPeers: SmscPeers;
  /** The one that runs now. */
  readonly system: WholeSystem;
  readonly client: SmsClient;
  /** Its heliograph.yaml. */
  readonly configuration: string;
  clientOf(key: string): SmsClient;
  /** Restarts the system after its end, on the same folder. */
  startAgain(): Promise<void>;
  stop(): Promise<void>;
};

export type SystemHarnessOptions = SmscPeerOptions & {
  /** Makes heliograph.yaml from that of the carriers. */
  readonly configured?: (configuration: string) => string;
  /** Further variables of the supervisor. */
  readonly env?: Readonly<Record<string, string>>;
};

export async function openSystemHarness(options: SystemHarnessOptions = {}): Promise<SystemHarness> {
  const smscPeers = await startSmscPeers(options);
  const configuration = options.configured?.(smscPeers.configuration) ?? smscPeers.configuration;
  const clients: SmsClient[] = [];
  const stop = async () => {
    for (const client of clients) client.close();
    await endSystems();
    await smscPeers.close();
  };
  const start = (before?: WholeSystem) =>
    startWholeSystem(configuration, { before, env: options.env ?? {} }).catch(async (error: unknown) => {
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
    smscPeers,
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
