// The share of an account's codes that are entered, in ordinary use: what the tests for fraud compare with. It follows
// the last codes slowly, and its owner leaves out those of suspicious blocks, so that an attack does not become ordinary.
// An attack with a few numbers of each block makes none suspicious, and lowers it: then more misses are needed for a block,
// at most as many as at the lower bound (decision 262).
import { thresholds } from './thresholds.ts';

const { usualConversion, usualConversionMin, usualConversionMax, conversionMemory, conversionPrior } = thresholds;

export class Conversion {
  #share: number = usualConversion;
  #codes = 0;

  add(isVerified: boolean): void {
    const weight = Math.max(1 / conversionMemory, 1 / (this.#codes + conversionPrior));
    this.#share += weight * ((isVerified ? 1 : 0) - this.#share);
    this.#codes += 1;
  }

  /** Within the bounds of what is taken as ordinary. */
  get usual(): number {
    return Math.min(usualConversionMax, Math.max(usualConversionMin, this.#share));
  }

  /** The conversion that the second test takes for fraud; null until the account's own figure is known. */
  get partial(): number | null {
    return this.#codes < thresholds.partialFromCodes ? null : Math.min(thresholds.partialConversion, this.usual / 2);
  }
}
