// The parameters of an import.
import type { Configuration } from '../../../config/configuration.ts';
import type { RegistryName } from '../../../policy/registry/contract.ts';

export type ImportOrder = {
  readonly name: RegistryName;
  readonly file: string;
  /** Rows begin with + or −, and change the version in effect. */
  readonly delta: boolean;
  readonly badRowsMax: number;
  /** A snapshot may take away most of what is there. */
  readonly allowShrink: boolean;
  readonly dataDir: string;
  readonly configuration: Configuration;
  readonly onProgress: (text: string) => void;
};
