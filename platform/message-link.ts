// What every thread and process of a node is asked by whoever started it, over the messages between the two: its
// metrics, and to drain. What else they say to each other is their own.
import { withDeadline } from './deadline.ts';
import { ignoring } from './errors.ts';
import { type MetricObject, currentMetrics } from './telemetry.ts';

export type ToLinked =
  /** Asks for the metrics; the answer carries the same id. */
  | { readonly type: 'ask'; readonly id: number }
  /** Take no more work, finish what is in flight, close everything. */
  | { readonly type: 'drain'; readonly deadlineMs: number };

export type FromLinked<Metrics = MetricObject[]> = {
  readonly type: 'metrics';
  readonly id: number;
  readonly metrics: Metrics;
};

/** The side that asks: threads or processes of one kind. */
export class MetricsRequests<Metrics = MetricObject[]> {
  readonly #waiting = new Map<number, (metrics: Metrics) => void>();
  #lastId = 0;

  /** Null when no answer comes: one that is too busy is left out. */
  async ask(of: string, withinMs: number, send: (message: ToLinked) => void): Promise<Metrics | null> {
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Metrics>();
    this.#waiting.set(id, resolve);
    send({ type: 'ask', id });
    try {
      return await withDeadline(`metrics of ${of}`, withinMs, promise);
    } catch (error) {
      ignoring(error, 'a thread or process did not send its metrics in time');
      return null;
    } finally {
      this.#waiting.delete(id);
    }
  }

  take({ id, metrics }: FromLinked<Metrics>): void {
    this.#waiting.get(id)?.(metrics);
  }
}

/** The side that answers, where it is one thread. */
export async function answerMetrics(id: number, send: (answer: FromLinked) => void): Promise<void> {
  send({ type: 'metrics', id, metrics: await currentMetrics() });
}
