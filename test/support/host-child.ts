// The actors process for tests of kills: a HostPool and nothing else, in a process of its own. It ends with its parent.
// Through the inspector it runs an expression in one of its threads, so that a thread can really throw and really run
// out of memory.
import { Session } from 'node:inspector';
import { HostPool, type HostPoolOptions } from '../../actors/runtime/host-pool.ts';
import { connectBus } from '../../cluster/bus/connect.ts';
import { watchStreams } from '../../cluster/bus/stream-gauges.ts';
import { messageOf } from '../../platform/errors.ts';
import { accountQueueMaxDefault } from '../../platform/limits-lanes.ts';
import { metrics } from '../../platform/telemetry.ts';

type OperatorCommand = { drain?: number; inThread?: number; expression?: string; restarts?: boolean };

const { natsUrl, bodyKey, carriers, threads, flightDumps, shared, threadMemoryMb } = JSON.parse(
  process.env['TEST_HOST'] ?? '{}',
);
const inspector = new Session();
const threadSessions: string[] = [];
inspector.connect();
inspector.on('NodeWorker.attachedToWorker', ({ params }) => void threadSessions.push(params.sessionId));
inspector.post('NodeWorker.enable', { waitForDebuggerOnStart: false });

const moves = {
  otpFailoverAfterMs: 1_000,
  othersFailoverAfterMs: 2_000,
  hedging: {
    ...{ enabled: true, share: 0.25, control: 0.1 },
    ...{ responseFloorMs: 250, receipts: true, receiptFloorMs: 250 },
  },
};
const options: HostPoolOptions = {
  moves,
  content: { words: [], linksDenied: [], linksAllowed: [] },
  accountQueueMax: accountQueueMaxDefault,
  country: { callingCode: '+880', nationalLengths: [10], prefixes: {}, trunkPrefix: '0' },
  registries: () => [],
  carriers,
  simulated: {},
  natsUrl,
  bodyKeys: [Buffer.from(bodyKey, 'base64')],
  threads,
  flightDumps: flightDumps ?? null,
  shared: shared ?? null,
  threadMemoryMb,
};
let pool = new HostPool(options);

process.on('disconnect', () => process.exit(1));
process.on('message', (command: OperatorCommand) => {
  if (command.drain !== undefined) void pool.drain(command.drain).then(() => process.exit(0));
  if (command.inThread !== undefined) {
    const message = JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression: command.expression } });
    const sessionId = threadSessions[command.inThread] ?? '';
    inspector.post('NodeWorker.sendMessageToWorker', { sessionId, message });
  }
  if (command.restarts === true) {
    void metrics.actorThreadRestarts.get().then(({ values }) => process.send?.({ restarts: values[0]?.value ?? 0 }));
  }
});

for (let isUp = false; !isUp; ) {
  try {
    await pool.start();
    isUp = true;
  } catch (error) {
    // JetStream did not answer in time: the supervisor would restart the role.
    process.send?.({ failed: messageOf(error) });
    await pool.drain(0);
    threadSessions.length = 0;
    pool = new HostPool(options);
  }
}
// As the role does beside its threads.
if (shared !== null) watchStreams(await connectBus(natsUrl, 'host'));
process.send?.({ ready: true });
