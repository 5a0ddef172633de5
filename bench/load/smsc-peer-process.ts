// A carrier's SMSC for a bench: the bundled simulator in a process of its own, controlled over IPC. It can be taken down,
// with its port and all it has not answered, and be started again; what it had counted until then still counts.
import { withDeadline } from '../../platform/deadline.ts';
import { LatencyHistogram } from '../../smpp/simulator/latency-histogram.ts';
import { type Latency, parseLatency } from '../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../smpp/simulator/simulator.ts';
import { takeOnlyIdleTime } from './child.ts';
import { SeenCodes } from './otp-codes.ts';

export type SmscPeerTask = {
  readonly systemId: string;
  readonly password: string;
  /** From the response to the receipt, and from the submit to its response. */
  readonly latencyMs: string;
  readonly responseMs: string;
  /** Submits in any one second before it answers ESME_RTHROTTLED; 0 is no limit. */
  readonly tps: number;
  /** The process takes only idle processor time. */
  readonly takesIdleTime: boolean;
};

/** Answered one at a time. `stats`: those of the simulator that runs now. */
export type SmscPeerQuestion = 'stats' | 'times' | 'down' | 'up' | { readonly latencyMs: string };

/** Since the process began, whatever was taken down meanwhile. */
export type SmscPeerTimes = {
  /**
   * Of each message that carries its intended send time two numbers: that time, and when its receipt was answered,
   * both in epoch microseconds.
   */
  readonly receipts: Float64Array;
  /** The handset times that were drawn, of all messages: the counts of a LatencyHistogram. */
  readonly handset: Float64Array;
};

/** Where a simulator listens, and the simulators before it: their nonces, as GET /nonces?format=binary gives them. */
export type SmscPeerPlace = {
  readonly port: number;
  readonly statsPort: number;
  /** Where it answers what codes the texts had that it took: otp-codes.ts. */
  readonly codesPort: number;
  readonly before: readonly Uint8Array[];
};

process.once('message', (task: SmscPeerTask) => {
  void withDeadline('the simulator starts', 10_000, begin(task));
});

async function begin({ systemId, password, latencyMs, responseMs, tps, takesIdleTime }: SmscPeerTask): Promise<void> {
  if (takesIdleTime) takeOnlyIdleTime();
  const handset = new LatencyHistogram();
  const receipts: number[] = [];
  const codes = new SeenCodes();
  let draw = distribution(latencyMs);
  const options = {
    accounts: [{ systemId, password, tps }],
    magic: false,
    latency: (random: Parameters<Latency>[0]) => {
      const ms = draw(random);
      handset.add(ms * 1_000);
      return ms;
    },
    response: distribution(responseMs),
    onReceiptAcked: (intendedUs: number, ackedAtUs: number) => void receipts.push(intendedUs, ackedAtUs),
    onText: (octets: Buffer) => codes.add(octets),
  };
  let simulator = await startSimulator(options);
  const { port, statsPort } = simulator;
  const codesPort = await codes.serve();
  const before: Uint8Array[] = [];
  const place = (): SmscPeerPlace => ({ port, statsPort, codesPort, before });
  const down = async () => {
    // Reads nothing more, so that no submit comes after its count.
    simulator.setFault('stall');
    const response = await fetch(`http://127.0.0.1:${statsPort}/nonces?format=binary`);
    before.push(new Uint8Array(await response.arrayBuffer()));
    await simulator.close();
  };
  const up = async (): Promise<Simulator> => startSimulator({ ...options, port, statsPort });
  const answer = async (question: SmscPeerQuestion): Promise<unknown> => {
    if (typeof question === 'object') draw = distribution(question.latencyMs);
    else if (question === 'stats') return simulator.stats();
    else if (question === 'times') return { receipts: Float64Array.from(receipts), handset: handset.counts() };
    else if (question === 'down') await down();
    else simulator = await up();
    return place();
  };
  process.on('message', (question: SmscPeerQuestion) => {
    void withDeadline('the simulator answers', 10_000, answer(question)).then((reply) => process.send?.(reply));
  });
  process.once('disconnect', () => process.exit(0));
  process.send?.(place());
}

function distribution(text: string): Latency {
  const latency = parseLatency(text);
  if (latency === undefined) throw new Error(`${text} is no distribution, such as lognormal:250,0.4`);
  return latency;
}
