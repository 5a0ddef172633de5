// One command of `heliograph` as data: commands.ts has them all by name, with the group, if any (`accounts limit`);
// program.ts declares them.
import type { Result } from './print.ts';

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
