// The records of the bucket `registry` about versions, and the events a process sends to its threads. Types only.
import type { RegistryName } from '../../policy/registry/contract.ts';

/** Under `<name>.current`: written last, so that the version it names is complete. */
export type VersionPointer = {
  readonly v: 1;
  /** Counts the versions of this registry, from 1. */
  readonly number: number;
  /** SHA-256 of the whole table, hex. */
  readonly sha256: string;
  readonly bytes: number;
  readonly chunks: number;
  readonly count: number;
  readonly callingCode: string;
  readonly importedAtMs: number;
  /** The file's name, for operators. */
  readonly source: string;
};

/** A version shared by the threads of a process: the memory itself, not a copy. */
type RegistrySnapshot = {
  readonly name: RegistryName;
  readonly version: string;
  readonly buffer: SharedArrayBuffer;
};

/** `unknown`: there may be a version, and it could not be loaded yet. `none`: nothing was ever imported. */
export type RegistryVersionEvent =
  | RegistrySnapshot
  | { readonly name: RegistryName; readonly version: 'unknown' | 'none' };
