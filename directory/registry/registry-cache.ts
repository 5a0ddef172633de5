// The registries of one thread: views on memory that its process shares, replaced as a whole between two messages.
import type { Registries } from '../../policy/registry/contract.ts';
import { openTable } from '../../policy/registry/number-table.ts';
import type { RegistryVersionEvent } from './contract.ts';

export type RegistryCache = ReturnType<typeof registryCache>;

export function registryCache(registryUpdate: readonly RegistryVersionEvent[]) {
  let registries: Registries = { dnd: null, ported: null };
  const apply = (each: RegistryVersionEvent) => {
    const empty = each.version === 'none' ? null : 'unknown';
    const state = 'buffer' in each ? openTable(each.buffer, each.version) : empty;
    registries = { ...registries, [each.name]: state };
  };
  for (const each of registryUpdate) apply(each);
  /** Called for every message: a version may be replaced between two of them. */
  const current = () => registries;
  return { current, apply };
}
