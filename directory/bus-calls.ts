// Bounds calls to the bus: each ends with its answer, at a deadline, or when the connection was lost and restored
// meanwhile, because its answer is lost then too.
import { withDeadline } from '../platform/deadline.ts';
import { limits } from '../platform/limits.ts';
import type { Bus } from '../cluster/bus/connect.ts';

export class BusCalls {
  readonly bus: Bus;
  /** One entry per call in progress; their callers bound them. */
  readonly #waiting = new Set<(why: Error) => void>();

  constructor(bus: Bus) {
    this.bus = bus;
    bus.onReconnect(() => {
      for (const giveUp of this.#waiting) giveUp(new Error('the connection was lost before the answer came'));
    });
  }

  async call<T>(what: string, work: Promise<T>, limitMs: number = limits.directory.readTimeoutMs): Promise<T> {
    const lost = Promise.withResolvers<never>();
    this.#waiting.add(lost.reject);
    try {
      return await withDeadline(what, limitMs, Promise.race([work, lost.promise]));
    } finally {
      this.#waiting.delete(lost.reject);
    }
  }
}
