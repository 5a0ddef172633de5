// Why cluster/bus/publisher.ts exists: acked JetStream publishes through it and through the client's own js.publish, on
// one connection and one thread, in the same run. CPU is that of this process alone.
import { limits } from '../platform/limits.ts';
import { systemClock } from '../platform/clock.ts';
import { ignoring } from '../platform/errors.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { Publisher } from '../cluster/bus/publisher.ts';
import { streamNames } from '../cluster/bus/streams.ts';
import { startBus } from '../test/support/bus.ts';
import { type Bench, type BenchOptions, seedOption } from './harness/bench.ts';
import { median } from './harness/latency-figures.ts';
import type { BenchResult } from './harness/report.ts';

const payloadBytes = 400;
const subject = 'mt.txn.bench.0';
const rounds = 5;
const streamName = streamNames.messages.txn;

export const bench: Bench<'seconds' | 'seed'> = {
  about: 'acked publishes: our publisher against js.publish',
  takes: 'about 15 seconds',
  options: {
    seconds: { about: 'seconds in all, half for each publisher', default: 10 },
    seed: seedOption,
  },
  targets: () => [
    { figure: 'cpu_ratio', op: '<=', bound: 0.7 },
    { figure: 'not_stored', op: '==', bound: 0 },
  ],
  run,
};

async function run({ seconds, seed }: BenchOptions<'seconds' | 'seed'>): Promise<BenchResult> {
  const { bus, stop } = await startBus('bench');
  const publisher = new Publisher(bus);
  const payload = new Uint8Array(payloadBytes);
  const sliceMs = (seconds * 1_000) / (rounds * 2);
  const ours: Round[] = [];
  const theirs: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    ours.push(
      await measure(
        sliceMs,
        (id, done) => publisher.publish(subject, payload, id, ({ ok }) => done(ok)),
        `a${seed}.${round}`,
      ),
    );
    theirs.push(await measure(sliceMs, clientPublish(bus, payload), `b${seed}.${round}`));
  }
  const stored = (await bus.manager.streams.info(streamName)).state.messages;
  publisher.close();
  await stop();
  const medianOf = (all: Round[], pick: (round: Round) => number) => median(all.map(pick));
  const figures = {
    publisher_rate_per_s: medianOf(ours, (each) => each.ratePerSecond),
    publisher_cpu_us: medianOf(ours, (each) => each.cpuUs),
    client_rate_per_s: medianOf(theirs, (each) => each.ratePerSecond),
    client_cpu_us: medianOf(theirs, (each) => each.cpuUs),
  };
  return {
    load: `${payloadBytes} bytes with Nats-Msg-Id, ${limits.bus.publishesInFlightMax / 2} in flight, ${rounds} rounds in turn, medians`,
    figures: {
      ...figures,
      cpu_ratio: figures.publisher_cpu_us / figures.client_cpu_us,
      // Counted in the stream: a refused publish costs little and does not count.
      not_stored: sum([...ours, ...theirs].map(({ sent }) => sent)) - stored,
    },
  };
}

type Round = { readonly ratePerSecond: number; readonly cpuUs: number; readonly sent: number };
type Publish = (id: string, done: (ok: boolean) => void) => void;

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

function clientPublish(bus: Bus, payload: Uint8Array): Publish {
  return (id, done) =>
    void bus.jetstream.publish(subject, payload, { msgID: id }).then(
      () => done(true),
      (error: unknown) => {
        ignoring(error, 'a publish that failed is counted');
        done(false);
      },
    );
}

async function measure(durationMs: number, publish: Publish, round: string): Promise<Round> {
  const inFlightMax = limits.bus.publishesInFlightMax / 2;
  const cpuBefore = process.cpuUsage();
  const beganMs = systemClock.monotonicMs();
  let sent = 0;
  let answered = 0;
  let acked = 0;
  await new Promise<void>((resolve) => {
    const fill = () => {
      while (sent - answered < inFlightMax && systemClock.monotonicMs() - beganMs < durationMs) {
        sent += 1;
        publish(`${round}.${sent}`, (ok) => {
          answered += 1;
          if (ok) acked += 1;
          if (sent - answered < inFlightMax / 2) fill();
          if (answered === sent && systemClock.monotonicMs() - beganMs >= durationMs) resolve();
        });
      }
    };
    fill();
  });
  const cpu = process.cpuUsage(cpuBefore);
  return {
    ratePerSecond: (acked * 1_000) / (systemClock.monotonicMs() - beganMs),
    cpuUs: (cpu.user + cpu.system) / acked,
    sent,
  };
}
