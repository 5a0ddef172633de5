// Orders the carriers of a one-time password by how many codes of each are entered: a Thompson draw (Thompson 1933), in
// which a carrier wins as often as it is likely to be the best by what is known of it. Each keeps a floor, so that it is
// still measured; one that is surely worse is demoted. Pure: the random numbers are those of the message's id.
import { assert } from '../../platform/assert.ts';
import type { Random } from '../../platform/random.ts';
import type { ConversionScore } from '../otp-conversion/contract.ts';
import { conversionFigures } from '../otp-conversion/figures.ts';

const { prior, floorShare, demotedBy, demotedFromCodes, z } = conversionFigures;

export type ConversionCandidate = { readonly name: string; readonly score: ConversionScore };

/** floor: first because each carrier is in turn · demoted: last unless by the floor. */
export type DrawnCarrier = ConversionCandidate & {
  readonly how: 'drew' | 'floor' | 'demoted';
  /** Between 0 and 1: the order of those that are not demoted, and of those that are. */
  readonly drawn: number;
};

/** `randomOf`: the same source for the same name; the empty name draws the floor. The first to be tried first. */
export function drawByConversion(
  candidates: readonly ConversionCandidate[],
  randomOf: (name: string) => Random,
): DrawnCarrier[] {
  assert(candidates.length * floorShare <= 1, 'more carriers than floors');
  const drawn = candidates.map(({ name, score }): DrawnCarrier => {
    const drawn = betaDraw(score.verified + prior, score.missed + prior, randomOf(name));
    return { name, score, how: isDemoted(score, candidates) ? 'demoted' : 'drew', drawn };
  });
  const rank = ({ how, drawn }: DrawnCarrier) => (how === 'demoted' ? drawn - 1 : drawn);
  const order = drawn.toSorted((one, other) => rank(other) - rank(one));
  const chosen = drawn[Math.floor(randomOf('').unit() / floorShare)];
  if (chosen === undefined) return order;
  return [{ ...chosen, how: 'floor' }, ...order.filter((each) => each !== chosen)];
}

/** Whether another one's conversion is surely higher by more than `demotedBy`. It is never all of them. */
function isDemoted(score: ConversionScore, candidates: readonly ConversionCandidate[]): boolean {
  if (codesOf(score) < demotedFromCodes) return false;
  const most = wilsonBound(score, '+') + demotedBy;
  return candidates.some((other) => codesOf(other.score) >= demotedFromCodes && most < wilsonBound(other.score, '-'));
}

export const codesOf = ({ verified, missed }: ConversionScore) => verified + missed;

/** The upper or lower bound of a share (Wilson 1927). */
export function wilsonBound(score: ConversionScore, sign: '+' | '-'): number {
  const count = codesOf(score);
  const share = score.verified / count;
  const spread = z * Math.sqrt((share * (1 - share)) / count + (z * z) / (4 * count * count));
  return (share + (z * z) / (2 * count) + (sign === '+' ? spread : -spread)) / (1 + (z * z) / count);
}

/** A number of the distribution Beta(one, other); both at least 1. */
export function betaDraw(one: number, other: number, random: Random): number {
  const part = gammaDraw(one, random);
  return part / (part + gammaDraw(other, random));
}

/** Of Gamma(shape, 1), by rejection of a cubed normal number (Marsaglia and Tsang 2000); `shape` at least 1. */
function gammaDraw(shape: number, random: Random): number {
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = normalDraw(random);
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - random.unit()) < (x * x) / 2 + d - d * v + d * Math.log(v)) return d * v;
  }
}

/** Of the standard normal distribution (Box and Muller 1958). */
function normalDraw(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.unit())) * Math.cos(2 * Math.PI * random.unit());
}
