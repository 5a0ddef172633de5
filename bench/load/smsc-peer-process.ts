// A carrier's SMSC for a bench: the bundled simulator in a process of its own, controlled over IPC.
import { withDeadline } from '../../platform/deadline.ts';
import { parseLatency } from '../../smpp/simulator/latency.ts';
import { startSimulator } from '../../smpp/simulator/simulator.ts';

export type SmscPeerTask = {
  readonly systemId: string;
  readonly password: string;
  /** From the response to the receipt, and from the submit to its response. */
  readonly latencyMs: string;
  readonly responseMs: string;
  /** Submits in any one second before it answers ESME_RTHROTTLED; 0 is no limit. */
  readonly tps: number;
};

process.once('message', (task: SmscPeerTask) => {
  void withDeadline('the simulator starts', 10_000, begin(task));
});

async function begin({ systemId, password, latencyMs, responseMs, tps }: SmscPeerTask): Promise<void> {
  const latency = parseLatency(latencyMs);
  const response = parseLatency(responseMs);
  const simulator = await startSimulator({
    accounts: [{ systemId, password, tps }],
    magic: false,
    ...(latency === undefined ? {} : { latency }),
    ...(response === undefined ? {} : { response }),
  });
  process.on('message', (question) => {
    if (question === 'stats') process.send?.(simulator.stats());
  });
  process.once('disconnect', () => process.exit(0));
  process.send?.({ port: simulator.port, statsPort: simulator.statsPort });
}
