// The conversion of carriers as one thread counts it. A code is watched from the moment its carrier took it and counts two
// minutes later, entered or not, so that carriers with more and more codes look no better than others. Its input may
// come in any order. It does no I/O; times are those of one monotonic clock.
import { setNewest } from '../../platform/bounded-map.ts';
import type { ConversionBounds, ConversionPlace, ConversionScore, TakenCode } from './contract.ts';
import { conversionFigures } from './figures.ts';

const { maturityMs, halfLifeMs } = conversionFigures;

type WatchedCode = {
  readonly sinceMs: number;
  /** Null: only its verification is known so far. */
  place: ConversionPlace | null;
  isVerified: boolean;
  isCopied: boolean;
};

export class ConversionScores {
  readonly #bounds: ConversionBounds;
  /** By message, the oldest first. */
  readonly #watched = new Map<string, WatchedCode>();
  /** The one counted last at the end. */
  readonly #scores = new Map<string, FadingScore>();
  readonly #carriers = new Map<string, FadingScore>();

  constructor(bounds: ConversionBounds) {
    this.#bounds = bounds;
  }

  /** A carrier took the message. */
  taken({ messageId, carrier, operator, sender }: TakenCode, nowMs: number): void {
    const code = this.#watch(messageId, nowMs);
    if (code !== null) code.place ??= { carrier, operator, sender };
  }

  /** Its code was entered. Two minutes after it was taken that changes nothing any more. */
  verified(messageId: string, nowMs: number): void {
    const code = this.#watch(messageId, nowMs);
    if (code !== null && nowMs - code.sinceMs < maturityMs) code.isVerified = true;
  }

  /** A second copy goes to another carrier after all: nobody knows which one is entered. */
  copied(messageId: string): void {
    const code = this.#watched.get(messageId);
    if (code !== undefined) code.isCopied = true;
  }

  /** Counts the codes whose two minutes are over: called about once a second. */
  advance(nowMs: number): void {
    for (const [messageId, { sinceMs, place, isVerified, isCopied }] of this.#watched) {
      const atMs = sinceMs + maturityMs;
      if (nowMs < atMs) return;
      this.#watched.delete(messageId);
      if (place !== null && !isCopied) this.#count(place, isVerified, atMs);
    }
  }

  of(place: ConversionPlace, nowMs: number): ConversionScore {
    return this.#scores.get(keyOf(place))?.at(nowMs) ?? nothingKnown;
  }

  /** Over all operators and senders, for metrics. */
  *ofCarriers(nowMs: number): Generator<readonly [carrier: string, score: ConversionScore]> {
    for (const [carrier, score] of this.#carriers) yield [carrier, score.at(nowMs)];
  }

  /** At the bound new codes are not watched: those that are shall come to their end. */
  #watch(messageId: string, nowMs: number): WatchedCode | null {
    const known = this.#watched.get(messageId);
    if (known !== undefined) return known;
    if (this.#watched.size >= this.#bounds.watchedMax) return null;
    const code: WatchedCode = { sinceMs: nowMs, place: null, isVerified: false, isCopied: false };
    this.#watched.set(messageId, code);
    return code;
  }

  #count(place: ConversionPlace, isVerified: boolean, atMs: number): void {
    const key = keyOf(place);
    const score = setNewest(this.#scores, key, this.#scores.get(key) ?? new FadingScore(), this.#bounds.scoresMax);
    score.add(isVerified, atMs);
    const ofCarrier = this.#carriers.get(place.carrier) ?? new FadingScore();
    if (this.#carriers.size < this.#bounds.carriersMax) this.#carriers.set(place.carrier, ofCarrier);
    ofCarrier.add(isVerified, atMs);
  }
}

const nothingKnown: ConversionScore = { verified: 0, missed: 0 };

/** Names of carriers have no spaces. */
const keyOf = ({ carrier, operator, sender }: ConversionPlace) => `${carrier} ${operator} ${sender}`;

/** Each code weighs by its age alone, so that the order in which codes are added changes nothing. */
class FadingScore {
  #verified = 0;
  #missed = 0;
  #atMs = Number.NEGATIVE_INFINITY;

  add(isVerified: boolean, atMs: number): void {
    if (atMs > this.#atMs) {
      const faded = this.at(atMs);
      this.#verified = faded.verified;
      this.#missed = faded.missed;
      this.#atMs = atMs;
    }
    const weight = weightAfter(this.#atMs - atMs);
    if (isVerified) this.#verified += weight;
    else this.#missed += weight;
  }

  at(nowMs: number): ConversionScore {
    const weight = weightAfter(nowMs - this.#atMs);
    return { verified: this.#verified * weight, missed: this.#missed * weight };
  }
}

const weightAfter = (ms: number) => 0.5 ** (ms / halfLifeMs);
