// The carrier a number was ported to. Without a registry, or before it is loaded, the prefix decides: a message over
// the previous carrier costs more and is still delivered.
import type { Registries } from './contract.ts';

export function portedTo({ ported }: Registries, to: string): string | null {
  if (ported === null || ported === 'unknown') return null;
  const mark = ported.markOf(to);
  return mark === 0 ? null : (ported.names[mark - 1] ?? null);
}
