// All children: starts each as soon as those it needs are ready, and stops them by rank. It decides no restarts and
// knows nothing of what the children do.
import { assert } from '../../platform/assert.ts';
import { ignoring } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import type { Configuration } from '../../config/configuration.ts';
import { type ChildSpec, type ChildStatus, SupervisedChild } from './supervised-child.ts';

type TreeListener = {
  onReady(name: string, readyFacts: Record<string, unknown>): void;
  onFailed(name: string, why: string): void;
};

export class SupervisionTree {
  readonly children: readonly SupervisedChild[];
  #stopping: Promise<void> | null = null;

  constructor(specs: readonly ChildSpec[]) {
    const names = new Set(specs.map((spec) => spec.name));
    assert(names.size === specs.length, 'two children with one name could not be distinguished');
    for (const spec of specs) {
      for (const name of spec.after) assert(names.has(name), `${spec.name} would wait for ever for ${name}`);
    }
    this.children = specs.map((spec) => new SupervisedChild(spec));
  }

  /**
   * Resolves when all have been ready once; rejects when a person must fix something first. A child that crashes does
   * not end the others: without its database the control plane is down, and sending goes on.
   */
  async start(listener: TreeListener): Promise<void> {
    await Promise.all(
      this.children.map(async (child) => {
        const needed = this.children.filter(({ spec }) => child.spec.after.includes(spec.name));
        await Promise.all(needed.map(({ firstReady }) => firstReady));
        if (this.#stopping !== null) return;
        child.start((why) => listener.onFailed(child.spec.name, why));
        const readyFacts = await child.firstReady;
        if (this.#stopping === null) listener.onReady(child.spec.name, readyFacts);
      }),
    );
  }

  get status(): ChildStatus[] {
    return this.children.map((child) => child.status);
  }

  configure(configuration: Configuration): void {
    for (const child of this.children) child.configure(configuration);
  }

  /** Resolves when all have been asked to stop and have ended. What has not been ready yet starts no process any more. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopInOrder();
    return this.#stopping;
  }

  killAll(): void {
    for (const child of this.children) child.kill();
  }

  async #stopInOrder(): Promise<void> {
    // Those of a higher rank wait for their turn; until then they must not go on with a start.
    for (const child of this.children) child.startNoMore();
    const ranks = [...new Set(this.children.map((child) => child.spec.stopRank))].sort((a, b) => a - b);
    for (const rank of ranks) {
      const group = this.children.filter((child) => child.spec.stopRank === rank);
      const results = await Promise.allSettled(group.map((child) => child.stop()));
      for (const result of results) {
        // A child that does not end must not keep the others from draining.
        if (result.status === 'rejected') ignoring(result.reason, 'a child could not be stopped');
      }
      log.info({ children: group.map((child) => child.spec.name) }, 'stopped');
    }
  }
}
