// Latency distributions in command line notation: `fixed:10`, `uniform:5,50` (milliseconds), `lognormal:250,0.4`
// (median in milliseconds, sigma). Pure except for the injected randomness.
import type { Random } from '../../platform/random.ts';

/** One sample in milliseconds, never negative. */
export type Latency = (random: Random) => number;

/** Undefined when the text is no distribution. */
export function parseLatency(text: string): Latency | undefined {
  const match = /^(?:(fixed|uniform|lognormal):)?([\d.]+)(?:,([\d.]+))?$/.exec(text);
  if (!match) return undefined;
  const kind = match[1] ?? 'fixed';
  const first = Number(match[2]);
  const second = match[3] === undefined ? undefined : Number(match[3]);
  if (!Number.isFinite(first) || (second !== undefined && !Number.isFinite(second))) return undefined;
  if ((kind === 'fixed') !== (second === undefined)) return undefined;
  if (kind === 'fixed') return () => first;
  if (kind === 'uniform') {
    if (second! < first) return undefined;
    return (random) => first + random.unit() * (second! - first);
  }
  return (random) => first * Math.exp(second! * normal(random));
}

// Box–Muller; 1 − unit keeps the logarithm away from zero.
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.unit())) * Math.cos(2 * Math.PI * random.unit());
}
