// Prints a command's result on standard output: lines for people, or one JSON object with --json. Escapes control
// characters, because names and texts of tenants and carriers may contain them.
import { printable, printableJson } from '../model/plain-text.ts';

export type Result = {
  /** Printed with --json. */
  readonly json: Readonly<Record<string, unknown>>;
  /** Printed without --json. */
  readonly lines: readonly string[];
  readonly exitCode?: 0 | 1;
  /** A file instead of both, as it is. */
  readonly octets?: Buffer;
};

export function print({ json, lines, octets }: Result, asJson: boolean): void {
  if (octets !== undefined) return void process.stdout.write(octets);
  process.stdout.write(asJson ? `${printableJson(JSON.stringify(json))}\n` : `${lines.map(printable).join('\n')}\n`);
}

/** Quotes a tenant's or carrier's text within a line, so that its end is visible. */
export const quoted = (text: string): string => `"${text.replaceAll('"', '\\"')}"`;
