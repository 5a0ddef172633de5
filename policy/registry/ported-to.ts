// Which carrier a number went to, when it left the one of its prefix. Without a registry, or before it is loaded, the
// prefix decides: a message that goes by the old carrier is dearer, not wrong.
import type { Registries } from './contract.ts';

export function portedTo({ ported }: Registries, to: string): string | null {
  if (ported === null || ported === 'unknown') return null;
  const mark = ported.markOf(to);
  return mark === 0 ? null : (ported.names[mark - 1] ?? null);
}
