// Reports a bench: a table for people, and with --json one line for machines (contract: Commands).
import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { ignoring } from '../../platform/errors.ts';

export type Target = { readonly figure: string; readonly op: '<=' | '>=' | '=='; readonly bound: number };

/** These figures must be 0. */
export const zero = (...figures: string[]): Target[] => figures.map((figure) => ({ figure, op: '==', bound: 0 }));

export type BenchResult = {
  /** One line: the offered load and its target. */
  readonly load: string;
  /** Names end in their unit: `accept_p99_ms`. */
  readonly figures: Readonly<Record<string, number>>;
};

type Run = {
  readonly bench: string;
  /** In effect; null: the bench does not take it. */
  readonly options: Readonly<Record<string, unknown>> & {
    readonly seconds: number | null;
    readonly seed: number | null;
  };
  readonly targets: readonly Target[];
};

/** Prints the result of a run; true when every target was met. */
export function report(run: Run, result: BenchResult, json: boolean): boolean {
  const { bench } = run;
  const { seconds, seed } = run.options;
  const targets = run.targets.map((target) => ({ ...target, met: isMet(target, result.figures[target.figure]) }));
  const machine = machineLine();
  const rows = Object.entries(result.figures).map(([figure, value]) => {
    const target = targets.find((each) => each.figure === figure);
    const bound = target === undefined ? '' : `${target.op} ${target.bound}  ${target.met ? 'met' : 'MISSED'}`;
    return `  ${figure.padEnd(38)}${round(value).toString().padStart(14)}   ${bound}`;
  });
  const about = [`machine: ${machine}`, ...(seed === null ? [] : [`seed ${seed}`])];
  if (seconds !== null) about.push(`${seconds} s`);
  const head = [`${bench}: ${result.load}`, about.join('; '), ''];
  process.stdout.write(`${[...head, ...rows, ''].join('\n')}\n`);
  if (json) {
    const figures = Object.fromEntries(Object.entries(result.figures).map(([name, value]) => [name, round(value)]));
    const { load } = result;
    const options = Object.fromEntries(Object.entries(run.options).filter(([, value]) => value !== null));
    process.stdout.write(
      `${JSON.stringify({ bench, commit: commitOf(), machine, seed, seconds, load, options, figures, targets })}\n`,
    );
  }
  return targets.every((target) => target.met);
}

export function isMet({ op, bound }: Target, value: number | undefined): boolean {
  // Nothing measured, or NaN that became null in JSON: meets no target.
  if (typeof value !== 'number' || Number.isNaN(value)) return false;
  switch (op) {
    case '<=':
      return value <= bound;
    case '>=':
      return value >= bound;
    case '==':
      return value === bound;
  }
}

function machineLine(): string {
  const all = cpus();
  return `${all.length} × ${all[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
}

function commitOf(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch (error) {
    ignoring(error, 'not a git checkout');
    return 'unknown';
  }
}

function round(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 100) / 100;
}
