// The messages that every thread and process of a node exchanges with its parent: requests for metrics, and the order
// to drain. Other messages are their own.
import { withDeadline } from './deadline.ts';
import { ignoring } from './errors.ts';
import { type MetricObject, currentMetrics } from './metric-registry.ts';

export type ToLinked =
  /** Requests the metrics; the answer has the same id. */
  | { readonly type: 'ask'; readonly id: number }
  /** Take no more work, finish what is in flight, close everything. */
  | { readonly type: 'drain'; readonly deadlineMs: number };

export type FromLinked<Metrics = MetricObject[]> = {
  readonly type: 'metrics';
  readonly id: number;
  readonly metrics: Metrics;
};

/** The parent's side: pending requests to threads or processes of one kind. */
export class MetricsRequests<Metrics = MetricObject[]> {
  readonly #waiting = new Map<number, (metrics: Metrics) => void>();
  #lastId = 0;

  /** Null without an answer in time: a busy thread is omitted. */
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

/** The answer of a single-threaded process or a thread. */
export async function answerMetrics(id: number, send: (answer: FromLinked) => void): Promise<void> {
  send({ type: 'metrics', id, metrics: await currentMetrics() });
}
