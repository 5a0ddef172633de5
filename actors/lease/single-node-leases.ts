// Leases of an installation with one node: it holds everything, writes nothing and waits for nothing.
import type { BindLeases } from './contract.ts';

/** One machine with its own nats-server: this process holds every bind while it runs. */
export const singleNodeLeases: BindLeases = {
  shared: false,
  node: '',
  epoch: () => 0,
  mayWrite: () => true,
  isLiving: () => false,
  serve(_carrier, binds, on) {
    return {
      ready: () => {
        for (const { key } of binds) on.onGranted(key, Number.POSITIVE_INFINITY);
      },
      heldElsewhere: new Map(),
      close: () => Promise.resolve(),
    };
  },
  close: () => Promise.resolve(),
};
