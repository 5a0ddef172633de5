// Prints a command's result on standard output: lines for people, or with --json one object for programs. It may
// contain names and texts of tenants and carriers, so control characters are escaped.
import { printable, printableJson } from '../model/plain-text.ts';

export type Result = {
  /** With --json. */
  readonly json: Readonly<Record<string, unknown>>;
  /** Without. */
  readonly lines: readonly string[];
  readonly exitCode?: 0 | 1;
};

export function print({ json, lines }: Result, asJson: boolean): void {
  process.stdout.write(asJson ? `${printableJson(JSON.stringify(json))}\n` : `${lines.map(printable).join('\n')}\n`);
}

/** A tenant's or carrier's text within a line, in quotes so that its end is visible. */
export const quoted = (text: string): string => `"${text.replaceAll('"', '\\"')}"`;
