// The command as a process of its own, as a person or a script runs it; its exit code is an answer, not an error.
import { execFile } from 'node:child_process';
import { join } from 'node:path';

export type CliResult = { readonly code: number; readonly stdout: string; readonly stderr: string };

const main = join(import.meta.dirname, '../../cli/main.ts');
const endsWithinMs = 25_000;

/** `env` is added to that of this process; undefined takes a variable away. */
export function runCli(words: readonly string[], env: Record<string, string | undefined> = {}): Promise<CliResult> {
  const whole = { ...process.env, HELIOGRAPH_LOG: 'error', ...env };
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...words], { env: whole, timeout: endsWithinMs }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
  });
}
