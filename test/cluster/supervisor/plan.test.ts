// What the supervisor gives its children, where it depends on the machine.
import { expect, test } from 'vitest';
import { ingressOldMb } from '../../../cluster/supervisor/plan.ts';

const gib = 1024 ** 3;

test.each([
  [24, 2, 1_024],
  [16, 2, 1_024],
  [15.9, 2, 512],
  [4, 2, 512],
  [64, 16, 512],
  [128, 16, 1_024],
])('%d GiB of memory and %d processors: a thread of the ingress collects from %d MiB on', (memory, processors, mb) => {
  expect(ingressOldMb(memory * gib, processors)).toBe(mb);
});
