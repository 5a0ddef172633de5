// The type of a bench: main.ts runs each of them the same way.
import type { BenchResult } from './report.ts';

/** Runs `work` with what was started, and stops it however that ends. */
export async function withStarted<Started extends { stop(): Promise<unknown> }>(
  starting: Promise<Started>,
  work: (started: Started) => Promise<BenchResult>,
): Promise<BenchResult> {
  const started = await starting;
  try {
    return await work(started);
  } finally {
    await started.stop();
  }
}

export type BenchOptions = {
  readonly seconds: number;
  readonly seed: number;
  /** How many items, for the benches that take it. */
  readonly count?: number;
  /** Segments per second, for the benches of a carrier's contract. */
  readonly contracts?: readonly number[];
  /** Messages offered per second, for the benches that offer a load. */
  readonly rate?: number;
  /** The parts to run, by name, for the benches that have several. */
  readonly only?: readonly string[];
  /** The events of each message are sent to a webhook endpoint. */
  readonly webhooks?: boolean;
  /** The same, at most so many events in one request. */
  readonly batch?: number;
};
/** Options that only some benches use. */
export type BenchOption = 'count' | 'contracts' | 'rate' | 'only' | 'webhooks' | 'batch';
export type Bench = {
  /** One line for the list of benches. */
  readonly about: string;
  readonly secondsDefault: number;
  /** What it takes beside --seconds and --seed; any other option is refused, because it would have no effect. */
  readonly takes?: readonly BenchOption[];
  run(options: BenchOptions): Promise<BenchResult>;
};
