// Whether a carrier is in an outage: receipts and verifications fall together, in most of its prefixes, at ordinary volume.
// Then codes are not entered because they do not arrive, and no prefix may be blocked for it. Over all accounts.
// An attack with numbers that cannot be reached adds codes without receipts and takes none away: fewer codes must arrive
// than usual, and what is usual follows those that arrive.
import type { CarrierOutage, GuardBounds } from './contract.ts';
import { FadingCount } from './fading-count.ts';
import { thresholds } from './thresholds.ts';

/** A code whose two minutes are over. */
export type MaturedCode = {
  readonly carrier: string;
  /** Of the block of 10^6 numbers. */
  readonly prefix: string;
  readonly sentAtMs: number;
  readonly hasReceipt: boolean;
  readonly isVerified: boolean;
};

/** The last few codes and the last hundred, as shares. */
const lastFew = 1 / 4;
const lastHundred = 1 / 100;

class Share {
  now = 0;
  usual = 0;

  add(isOne: boolean, count: number, isUsual: boolean): void {
    const value = isOne ? 1 : 0;
    this.now += Math.max(lastFew, 1 / count) * (value - this.now);
    if (isUsual) this.usual += Math.max(lastHundred, 1 / count) * (value - this.usual);
  }

  get hasFallen(): boolean {
    return this.now < this.usual * thresholds.fallen;
  }
}

class Prefix {
  readonly receipts = new Share();
  readonly verifications = new Share();
  count = 0;
  lastAtMs = 0;

  add({ hasReceipt, isVerified }: MaturedCode, nowMs: number): void {
    this.count += 1;
    this.lastAtMs = nowMs;
    // What is usual is not learned from an outage.
    const isUsual = this.count < thresholds.outageCodesMin || hasReceipt || !this.receipts.hasFallen;
    this.receipts.add(hasReceipt, this.count, isUsual);
    this.verifications.add(isVerified, this.count, isUsual);
  }

  get isKnown(): boolean {
    return this.count >= thresholds.outageCodesMin;
  }
}

class Carrier {
  readonly prefixes = new Map<string, Prefix>();
  /** By when codes were sent: what became of them is known two minutes later. */
  readonly lastMinutes = new FadingCount(thresholds.maturityMs);
  readonly #arrivedLastMinutes = new FadingCount(thresholds.maturityMs);
  readonly #arrivedLastHour = new FadingCount(thresholds.usualMs);
  isSuspended = false;
  /** Codes per millisecond that arrived before the outage. */
  usualRate = 0;
  resumedAtMs = Number.NEGATIVE_INFINITY;

  /** The share of its prefixes where both fell; 0 with too few prefixes. */
  fallenShare(nowMs: number): number {
    let fallen = 0;
    let known = 0;
    for (const { isKnown, lastAtMs, receipts, verifications } of this.prefixes.values()) {
      if (!isKnown || nowMs - lastAtMs > thresholds.outageRecentMs) continue;
      known += 1;
      if (receipts.hasFallen && verifications.hasFallen) fallen += 1;
    }
    return known < thresholds.outagePrefixesMin ? 0 : fallen / known;
  }

  add({ sentAtMs, hasReceipt }: MaturedCode): void {
    this.lastMinutes.add(sentAtMs);
    if (!hasReceipt) return;
    this.#arrivedLastMinutes.add(sentAtMs);
    this.#arrivedLastHour.add(sentAtMs);
  }

  /** Fewer codes arrive than usual, and no more than twice as many are sent. */
  mayBegin(sentMs: number): boolean {
    const usual = this.#arrivedLastHour.rate(sentMs);
    const isFlat = this.lastMinutes.rate(sentMs) <= thresholds.outageVolumeTimes * usual;
    return isFlat && this.#arriving(sentMs) < thresholds.fallen * usual;
  }

  begin(sentMs: number): void {
    this.isSuspended = true;
    this.usualRate = this.#arrivedLastHour.rate(sentMs);
  }

  isOver(fallenShare: number, sentMs: number): boolean {
    const { resumeShare, resumeArrivedShare } = thresholds;
    return fallenShare < resumeShare || this.#arriving(sentMs) >= resumeArrivedShare * this.usualRate;
  }

  /** Codes per millisecond of the last minutes, also where it has counted for less: then too few. */
  #arriving(sentMs: number): number {
    return this.#arrivedLastMinutes.value(sentMs) / thresholds.maturityMs;
  }
}

type Bounds = Pick<GuardBounds, 'carriersMax' | 'carrierPrefixesMax'>;

export class Outages {
  readonly #bounds: Bounds;
  readonly #carriers = new Map<string, Carrier>();

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** Counts the code; returns the begin of an outage. */
  add(code: MaturedCode, nowMs: number): CarrierOutage | null {
    const carrier = within(this.#carriers, code.carrier, this.#bounds.carriersMax, Carrier);
    if (carrier === null) return null;
    carrier.add(code);
    const prefix = within(carrier.prefixes, code.prefix, this.#bounds.carrierPrefixesMax, Prefix);
    if (prefix === null) return null;
    prefix.add(code, nowMs);
    if (carrier.isSuspended || !prefix.receipts.hasFallen || !carrier.mayBegin(code.sentAtMs)) return null;
    const statistic = carrier.fallenShare(nowMs);
    if (statistic <= thresholds.outageShare) return null;
    carrier.begin(code.sentAtMs);
    return { carrier: code.carrier, statistic, threshold: thresholds.outageShare };
  }

  /** The ends of outages. */
  advance(nowMs: number): CarrierOutage[] {
    const ends: CarrierOutage[] = [];
    for (const [name, carrier] of this.#carriers) {
      if (!carrier.isSuspended) continue;
      const statistic = carrier.fallenShare(nowMs);
      if (!carrier.isOver(statistic, nowMs - thresholds.maturityMs)) continue;
      carrier.isSuspended = false;
      carrier.resumedAtMs = nowMs;
      ends.push({ carrier: name, statistic, threshold: thresholds.resumeShare });
    }
    return ends;
  }

  /**
   * Whether a code sent at that time was sent in an outage of its carrier, which may be over by now. Beyond what people who
   * ask again would send none is.
   */
  covers(carrier: string, sentAtMs: number): boolean {
    const known = this.#carriers.get(carrier);
    if (known === undefined) return false;
    if (!known.isSuspended) return sentAtMs < known.resumedAtMs;
    return known.lastMinutes.rate(sentAtMs) <= thresholds.outageAgainTimes * known.usualRate;
  }

  /** Whether receipts of the prefix fell, in no outage yet: what looks like fraud may be the begin of one. */
  receiptsFell(carrier: string, prefix: string): boolean {
    const known = this.#carriers.get(carrier);
    if (known === undefined || known.isSuspended) return false;
    const numbers = known.prefixes.get(prefix);
    return numbers !== undefined && numbers.isKnown && numbers.receipts.hasFallen;
  }
}

/** The value of a name, a new one when there is none; null when there is none and no room. */
function within<Value>(held: Map<string, Value>, name: string, max: number, Kind: new () => Value): Value | null {
  const known = held.get(name);
  if (known !== undefined) return known;
  if (held.size >= max) return null;
  const added = new Kind();
  held.set(name, added);
  return added;
}
