// Prints a command's result on standard output: lines for people, or with --json one object for programs. It may
// contain names and texts of tenants and carriers, so control characters are escaped.
import { printable, printableJson } from '../model/plain-text.ts';

export function print(options: { json?: boolean }, object: Record<string, unknown>, lines: string[]): void {
  process.stdout.write(
    options.json === true ? `${printableJson(JSON.stringify(object))}\n` : `${lines.map(printable).join('\n')}\n`,
  );
}

/** A tenant's or carrier's text within a line, in quotes so that its end is visible. */
export const quoted = (text: string): string => `"${text.replaceAll('"', '\\"')}"`;
