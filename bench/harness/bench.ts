// The type of a bench: main.ts runs each of them the same way, and --help and docs/benches.md are made of the same entry.
import type { BenchResult, Target } from './report.ts';

/** Runs `work` with what was started, and stops it however that ends. */
export async function withStarted<Started extends { stop(): Promise<unknown> }>(
  starting: Promise<Started>,
  work: (started: Started) => Promise<BenchResult>,
): Promise<BenchResult> {
  const started = await starting;
  try {
    return await work(started);
  } finally {
    await started.stop();
  }
}

/** The options of all benches. What one bench does with an option, and what it is without it, is in its `options`. */
export type OptionValues = {
  readonly seconds: number;
  readonly seed: number;
  readonly count: number;
  readonly rate: number;
  readonly contracts: readonly number[];
  readonly only: readonly string[];
  readonly webhooks: boolean;
  /** Null: not given. */
  readonly batch: number | null;
  readonly picture: string | null;
};
export type OptionName = keyof OptionValues;
export type BenchOptions<Taken extends OptionName> = Pick<OptionValues, Taken>;

/** What the option is, with its unit, and its value when it is not given. */
type Described<Value> = {
  readonly about: string;
  /** A function where it follows from the others. */
  readonly default: Value | ((others: Partial<OptionValues>) => Value);
};
/** By name what each part of the bench is; when the option is not given, all of them run. */
type Parts = { readonly about: string; readonly parts: Readonly<Record<string, string>> };
type Descriptions = { readonly [Name in OptionName]: Name extends 'only' ? Parts : Described<OptionValues[Name]> };

export type Bench<Taken extends OptionName> = {
  /** One line for the list of benches. */
  readonly about: string;
  /** How long a run without options takes. */
  readonly takes: string;
  /** All that it takes; any other option is refused, because it would have no effect. */
  readonly options: Pick<Descriptions, Taken>;
  targets(options: BenchOptions<Taken>): readonly Target[];
  run(options: BenchOptions<Taken>): Promise<BenchResult>;
};

/** Any of them, for those who run or describe all: they give every option that it describes. */
export type AnyBench = {
  readonly about: string;
  readonly takes: string;
  readonly options: Partial<Descriptions>;
  targets(options: OptionValues): readonly Target[];
  run(options: OptionValues): Promise<BenchResult>;
};

/** For the many benches whose load is drawn at random. */
export const seedOption = { about: 'of what is drawn at random; the same seed gives the same load', default: 1 };
