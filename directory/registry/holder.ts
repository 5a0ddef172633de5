// The registries of one thread: opened on the memory its process shares, replaced as a whole between two messages.
import type { Registries } from '../../policy/registry/contract.ts';
import { openTable } from '../../policy/registry/number-table.ts';
import type { RegistryNews } from './contract.ts';

export type RegistryHolder = {
  /** For every message anew: a version may be replaced between two of them. */
  readonly current: () => Registries;
  apply(news: RegistryNews): void;
};

export function registryHolder(news: readonly RegistryNews[]): RegistryHolder {
  let registries: Registries = { dnd: null, ported: null };
  const apply = (each: RegistryNews) => {
    const empty = each.version === 'none' ? null : 'unknown';
    const state = 'buffer' in each ? openTable(each.buffer, each.version) : empty;
    registries = { ...registries, [each.name]: state };
  };
  for (const each of news) apply(each);
  return { current: () => registries, apply };
}
