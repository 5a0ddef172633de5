// The form of a row of commands.ts.
import type { Result } from './print.ts';

/** One command as data; its name in the table has the group, if any (`accounts limit`). */
export type CommandRow = {
  readonly help: string;
  /** Arguments (`<id>`) and options in the order of the help; every command has --json too. */
  readonly takes?: Readonly<Record<string, string>>;
  readonly requires?: Readonly<Record<string, string>>;
  /** Exits after printing, even if a check left something open. */
  readonly exits?: boolean;
  /** Loaded on use, so that every command starts fast. Called with the arguments, then the options. */
  readonly load: () => Promise<(...given: never[]) => Promise<Result> | Result>;
};
