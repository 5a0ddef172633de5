// What an export asks for. Types only: the API sends it, the analytics role answers it.
import type { SqlFormat } from './formats.ts';

/** The query was validated (api/management/routes/exports.ts). */
export type ExportQuery = {
  /** A public table (public-tables.ts). */
  readonly table: string;
  readonly accountId: string;
  readonly livemode: boolean;
  /** Inclusive; milliseconds since the epoch. */
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  readonly format: SqlFormat;
};
