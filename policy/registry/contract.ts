// A registry as the gates and the router use it: numbers with a small mark each, one version at a time. Types only;
// number-table.ts has the storage, directory/registry/ the distribution.

/** `dnd`: who does not want which categories. `ported`: numbers that left the carrier of their prefix. */
export const registryNames = ['dnd', 'ported'] as const;
export type RegistryName = (typeof registryNames)[number];

export type NumberRegistry = {
  /** Sequential number and the first characters of the content's SHA-256: `12-3fa94c01`. */
  readonly version: string;
  readonly count: number;
  /** The meanings of marks, by mark: category bits have no names, ported numbers have carriers. */
  readonly names: readonly string[];
  /** 0 when the number is not listed, else its mark, 1 to 15. `to` is E.164 with the plus sign. */
  markOf(to: string): number;
};

/** Null: nothing was ever imported. `unknown`: there is one, and this process could not load it yet. */
export type RegistryState = NumberRegistry | 'unknown' | null;

/** The registries of a thread: replaced as a whole when a new version is complete. */
export type Registries = { readonly [name in RegistryName]: RegistryState };
