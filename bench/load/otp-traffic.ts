// Simulated people and fraudsters who ask for codes, in virtual time with a seed: what the bench of the guard sends. A
// scenario is a list of sources; each says when it asks, for which number, and what becomes of the code.
import type { Random } from '../../platform/random.ts';

export type CodeRequest = {
  readonly atMs: number;
  readonly to: string;
  readonly ip: string;
  readonly isFraud: boolean;
  /** After how long the code is entered; null: never. */
  readonly verifiedAfterMs: number | null;
  /** After how long each the same code is asked for once more, unless it was entered before. */
  readonly resendsAfterMs: readonly number[];
};

/** Informed before each request whether the one before was refused: some fraudsters go on elsewhere. */
export type Source = (random: Random) => Generator<CodeRequest, void, boolean>;

const callingCode = '+880';
const honestConversion = 0.7;
/** Numbers of subscribers: 60 blocks of 10^6, and in each the blocks of 10^4 whose two digits are below 90. */
const subscriberBlocks = 60;

export type People = {
  readonly perSecond: number;
  readonly fromMs: number;
  readonly untilMs: number;
  /** How many times as many at this moment. */
  readonly times?: (atMs: number) => number;
  readonly conversion?: number;
  readonly ip?: string;
  readonly number?: (random: Random) => string;
  readonly resendsAfterMs?: readonly number[];
};

/** People in ordinary use: a Poisson stream, 70 % enter their code after about 20 s. */
export function people({ perSecond, fromMs, untilMs, ...options }: People): Source {
  const { times = () => 1, conversion = honestConversion, number = subscriber, resendsAfterMs = [] } = options;
  return function* (random) {
    for (let atMs = fromMs; ; ) {
      atMs += (-Math.log(1 - random.unit()) * 1_000) / (perSecond * times(atMs));
      if (atMs >= untilMs) return;
      const verifiedAfterMs = random.unit() < conversion ? entryMs(random) : null;
      const to = number(random);
      const ip = options.ip ?? addressOf(random);
      yield { atMs, to, ip, isFraud: false, verifiedAfterMs, resendsAfterMs };
    }
  };
}

export type Fraud = {
  readonly everyMs: number;
  readonly fromMs: number;
  readonly untilMs: number;
  /** `refused`: how many of its requests were refused so far. */
  number(asked: number, refused: number, random: Random): string;
  /** The share of codes that the fraudster enters himself. */
  readonly conversion?: number;
  readonly ip?: string;
  readonly resendsAfterMs?: readonly number[];
};

export function fraud({ everyMs, fromMs, untilMs, number, conversion = 0, ip, resendsAfterMs = [] }: Fraud): Source {
  return function* (random) {
    let refused = 0;
    let asked = 0;
    for (let atMs = fromMs + random.unit() * everyMs; atMs < untilMs; atMs += everyMs, asked += 1) {
      const verifiedAfterMs = random.unit() < conversion ? entryMs(random) : null;
      const to = number(asked, refused, random);
      const request = { atMs, to, ip: ip ?? addressOf(random), isFraud: true, verifiedAfterMs, resendsAfterMs };
      if (yield request) refused += 1;
    }
  };
}

/** A number of a customer. */
export function subscriber(random: Random): string {
  return numberOf(Math.floor(random.unit() * subscriberBlocks), Math.floor(random.unit() * 90), last4(random));
}

/** The `at`th block of 10^4 that fraudsters have: ten in each block of 10^6, beside the customers' ones. */
export function fraudBlock(at: number): { six: number; four: number } {
  return { six: Math.floor(at / 10) % subscriberBlocks, four: 90 + (at % 10) };
}

export function fraudNumber(block: number, lastDigits: number): string {
  const { six, four } = fraudBlock(block);
  return numberOf(six, four, lastDigits);
}

export function last4(random: Random): number {
  return Math.floor(random.unit() * 10_000);
}

export function last2(random: Random): number {
  return Math.floor(random.unit() * 100);
}

/** `six` selects the block of 10^6 numbers, `four` that of 10^4 in it. */
export function numberOf(six: number, four: number, lastDigits: number): string {
  return `${callingCode}1${digits(300 + six, 3)}${digits(four, 2)}${digits(lastDigits, 4)}`;
}

/** Half of those who enter their code do so within 20 s, a few need more than two minutes. */
function entryMs(random: Random): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random.unit())) * Math.cos(2 * Math.PI * random.unit());
  return 20_000 * Math.exp(0.6 * normal);
}

function addressOf(random: Random): string {
  return `100.${Math.floor(random.unit() * 256)}.${Math.floor(random.unit() * 256)}.${Math.floor(random.unit() * 256)}`;
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, '0');
}
