// A command of the command line within the process of the test, which costs a tenth of a process of its own (cli.ts). Each
// family of commands has a test with a process as well.
import { CommanderError } from 'commander';
import { program } from '../../cli/program.ts';
import { printable } from '../../model/plain-text.ts';
import { SetupError } from '../../platform/errors.ts';
import type { CliResult } from './cli.ts';

type Env = Readonly<Record<string, string | undefined>>;

let isRunning = false;

/**
 * One at a time: it takes the streams and the environment of this process. `env` is added; undefined takes a variable
 * away. A command that ends its process, or is stopped by a signal, is for `runCli`. Errors are printed as cli/main.ts
 * prints them.
 */
export async function runCliHere(words: readonly string[], env: Env = {}): Promise<CliResult> {
  if (isRunning) throw new Error('another command runs in this process');
  isRunning = true;
  const restoreEnv = withEnv(env);
  const [stdout, stderr] = [captured(process.stdout), captured(process.stderr)];
  let code = 0;
  try {
    await program.parseAsync(words, { from: 'user' });
    code = Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError) code = error.exitCode;
    else if (error instanceof SetupError) {
      code = 1;
      process.stderr.write(`${error.message.split('\n').map(printable).join('\n')}\n`);
    } else throw error;
  } finally {
    process.exitCode = undefined;
    for (const stream of [stdout, stderr]) stream.restore();
    restoreEnv();
    isRunning = false;
  }
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

/** What is written to the stream until it is restored. */
function captured(stream: NodeJS.WriteStream): { text(): string; restore(): void } {
  const parts: string[] = [];
  const { write } = stream;
  stream.write = (part: string | Uint8Array) => {
    parts.push(typeof part === 'string' ? part : Buffer.from(part).toString());
    return true;
  };
  const restore = () => void (stream.write = write);
  return { text: () => parts.join(''), restore };
}

/** Changes variables of this process; returns what puts the earlier values back. */
function withEnv(env: Env): () => void {
  const earlier = Object.keys(env).map((name) => [name, process.env[name]] as const);
  const set = (values: readonly (readonly [string, string | undefined])[]) => {
    for (const [name, value] of values) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
  set(Object.entries(env));
  return () => set(earlier);
}
