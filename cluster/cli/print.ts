// What a command says when it is done, on standard output: lines for people, or with --json one object for programs.

export function print(options: { json?: boolean }, object: Record<string, unknown>, lines: string[]): void {
  process.stdout.write(options.json === true ? `${JSON.stringify(object)}\n` : `${lines.join('\n')}\n`);
}
