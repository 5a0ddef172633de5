// What a command says when it is done, on standard output: lines for people, or with --json one object for programs.
// Names, texts and ids of tenants and carriers are among it: each line is printed as one line that no terminal obeys.
import { printable, printableJson } from '../model/plain-text.ts';

export function print(options: { json?: boolean }, object: Record<string, unknown>, lines: string[]): void {
  process.stdout.write(
    options.json === true ? `${printableJson(JSON.stringify(object))}\n` : `${lines.map(printable).join('\n')}\n`,
  );
}

/** A text of somebody else among other words of a line: its end can be seen. */
export const quoted = (text: string): string => `"${text.replaceAll('"', '\\"')}"`;
