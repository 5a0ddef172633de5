// What a bench is, in words: for --help, and for docs/benches.md. Both are made of the entry that is run.
import type { AnyBench, OptionName, OptionValues } from './bench.ts';
import { forms, optionNames, valuesOf } from './options.ts';
import type { Target } from './report.ts';

export type Usage = {
  readonly options: readonly (readonly [option: string, about: string])[];
  /** The parts of --only. */
  readonly parts: readonly (readonly [name: string, about: string])[];
  /** Those of a run without options. */
  readonly targets: readonly string[];
};

export function usageOf(bench: AnyBench): Usage {
  const values = valuesOf(bench);
  const options = optionNames.flatMap((name) => {
    const option = bench.options[name];
    if (option === undefined) return [];
    const without = 'parts' in option ? 'all' : valueInWords(values[name]);
    const about = without === null ? option.about : `${option.about} (without it: ${without})`;
    return [[`--${name} ${forms[name].value}`.trim(), about] as const];
  });
  return {
    options: [...options, ['--json', 'the result once more, as one line of JSON']],
    parts: Object.entries(bench.options.only?.parts ?? {}),
    targets: targetsInWords(bench.targets(values)),
  };
}

/** For a terminal. */
export function helpOf(name: string, bench: AnyBench): string {
  const { options, parts, targets } = usageOf(bench);
  const rows = (all: readonly (readonly [string, string])[]) => {
    const width = Math.max(0, ...all.map(([word]) => word.length)) + 2;
    return all.map(([word, about]) => `  ${word.padEnd(width)}${about}`);
  };
  return [
    `usage: npm run bench -- ${name} [options]`,
    '',
    `${bench.about}`,
    `A run takes ${bench.takes}. Exit code 1: a target was missed.`,
    ...['', 'options:', ...rows(options)],
    ...(parts.length === 0 ? [] : ['', 'parts, for --only:', ...rows(parts)]),
    ...['', 'targets:', ...targets.map((each) => `  ${each}`), ''],
  ].join('\n');
}

function valueInWords(value: OptionValues[OptionName]): string | null {
  if (value === null || value === false) return null;
  return Array.isArray(value) ? value.join(',') : value.toString();
}

/** Figures with the same bound in one line: a bench of many parts has the same for each. */
function targetsInWords(targets: readonly Target[]): string[] {
  const figures = new Map<string, string[]>();
  for (const { figure, op, bound } of targets) {
    const words = `${op} ${bound.toLocaleString('en')}`;
    figures.set(words, [...(figures.get(words) ?? []), figure]);
  }
  return [...figures].map(([words, all]) => `${words}: ${all.join(', ')}`);
}
