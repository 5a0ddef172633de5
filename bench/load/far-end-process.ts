// A carrier's SMSC for a bench: the bundled simulator in a process of its own, asked over IPC.
import { withDeadline } from '../../platform/deadline.ts';
import { parseLatency } from '../../smpp/simulator/latency.ts';
import { startSimulator } from '../../smpp/simulator/simulator.ts';

export type FarEndTask = { readonly systemId: string; readonly password: string; readonly latencyMs: string };

process.once('message', (task: FarEndTask) => {
  void withDeadline('the simulator starts', 10_000, begin(task));
});

async function begin({ systemId, password, latencyMs }: FarEndTask): Promise<void> {
  const latency = parseLatency(latencyMs);
  const simulator = await startSimulator({
    accounts: [{ systemId, password, tps: 0 }],
    magic: false,
    ...(latency === undefined ? {} : { latency }),
  });
  process.on('message', (question) => {
    if (question === 'stats') process.send?.(simulator.stats());
  });
  process.once('disconnect', () => process.exit(0));
  process.send?.({ port: simulator.port });
}
