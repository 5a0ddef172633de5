// The simulator role: one bundled SMSC per simulated carrier, all in this process, on ports that the supervisor keeps
// over restarts. A carrier's pending receipts are in a file of its own from a stop to the next start. It knows SMPP only, nothing of
// the product.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Latency, parseLatency } from '../../smpp/simulator/latency.ts';
import { startSimulator } from '../../smpp/simulator/simulator.ts';
import { assert } from '../../platform/assert.ts';
import type { CarrierConfig } from '../../config/configuration.ts';
import { loadConfiguration } from '../../config/load.ts';
import { type Settings, loadSettings } from '../../config/settings.ts';
import { runRole } from '../supervisor/child-link.ts';

runRole('simulator', async ({ env }) => {
  const settings = loadSettings(env);
  const { carriers } = await loadConfiguration(settings.configFile, env);
  const simulated = carriers.filter((carrier) => carrier.simulate !== null);
  const folder = join(settings.dataDir, 'simulated');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const running = await Promise.all(simulated.map((carrier) => startCarrier(carrier, settings, folder)));
  return {
    health: () => ({ ok: true, detail: simulated.map((carrier) => carrier.name).join(', ') }),
    async drain() {
      await Promise.all(running.map((simulator) => simulator.close()));
    },
  };
});

function startCarrier({ name, simulate, binds, wire }: CarrierConfig, settings: Settings, folder: string) {
  const bind = binds[0];
  const port = settings.simulatedPorts[name];
  assert(simulate !== null && bind !== undefined && port !== undefined, `${name} has nowhere to listen`);
  return startSimulator({
    port,
    statsPort: settings.simulatedHttpPorts[name] ?? 0,
    token: settings.simulatorToken ?? undefined,
    accounts: [{ systemId: bind.systemId, password: bind.password, tps: simulate.tps }],
    // What a contract fixes between the SMSC and its clients.
    alphabet: wire.text,
    latency: latencyOf(simulate.latencyMs),
    response: latencyOf(simulate.responseMs),
    receipts: simulate.receipts,
    ids: simulate.ids,
    magic: simulate.magic,
    pendingFile: join(folder, name),
  });
}

function latencyOf(text: string): Latency {
  const latency = parseLatency(text);
  assert(latency !== undefined, `the configuration let "${text}" through`);
  return latency;
}
