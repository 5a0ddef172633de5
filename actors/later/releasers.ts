// The releasers of one process: one per waiting stream, each with its own publishes in flight, so that a million
// scheduled messages due at once do not delay a deferral of two seconds.
import type { Bus } from '../../cluster/bus/connect.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import type { WaitKind } from '../../cluster/bus/subjects.ts';
import { LaterReleaser, type ReleaserOptions } from './releaser.ts';

export class Releasers {
  readonly #all: readonly { readonly releaser: LaterReleaser; readonly publisher: Publisher }[];

  constructor(bus: Bus, options: Omit<ReleaserOptions, 'kind'> = {}) {
    this.#all = (Object.keys(streamNames.waiting) as WaitKind[]).map((kind) => {
      const publisher = new Publisher(bus);
      return { releaser: new LaterReleaser(bus, publisher, { ...options, kind }), publisher };
    });
  }

  /** Rejects when one of them cannot begin; the others continue. */
  async start(): Promise<void> {
    await Promise.all(this.#all.map(({ releaser }) => releaser.start()));
  }

  /** Takes nothing more, and waits for publishes in flight. */
  async stop(): Promise<void> {
    await Promise.all(
      this.#all.map(async ({ releaser, publisher }) => {
        await releaser.stop();
        await publisher.idle();
        publisher.close();
      }),
    );
  }
}
