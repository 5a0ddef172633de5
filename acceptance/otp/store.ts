// The bucket `otp`: one record for each number of an account, changed by compare-and-set. A write expects the revision
// that was read, so of decisions at the same time one is stored and the others are made again over its result. What a
// thread has just written it remembers, because a verification follows its start; but only a stored write, or a record
// read from the leader, gives an answer. Failed guesses count for a day and a record is kept for an hour, so they are
// kept in the bucket `otp_failures` too, from which a new record begins.
import { expectSequence } from '../../cluster/bus/bucket.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { LatestRecords } from '../../cluster/bus/latest-record.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { subjectInBucket } from '../../cluster/bus/streams.ts';
import { type AccountId, type OtpPlace, otpPlaceOf } from '../../model/ids.ts';
import type { OtpFailures, OtpNumber } from '../../model/otp.ts';
import {
  decodeOtpFailures,
  decodeOtpNumber,
  encodeOtpFailures,
  encodeOtpNumber,
} from '../../model/records/otp-record.ts';
import { setNewest } from '../../platform/bounded-map.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import { type Decided, forgetFailures } from '../../policy/otp/rules.ts';

/** Whose record it is: another account's is not found under the same place. */
export type OtpOwner = { readonly accountId: AccountId; readonly livemode: boolean };

/** `unavailable`: NATS did not answer, or the bucket is full; the change may be stored. */
export type OtpChange<Answer> = { readonly ok: true; readonly answer: Answer } | { readonly ok: false };

/**
 * `marks`: a random name of each of its last writes, the newest first. A publish whose ack was lost is repeated, and then
 * refused as a conflict with itself: only by its mark in the record the writer sees that it was stored.
 */
type Held = { readonly number: OtpNumber; readonly marks: readonly string[]; readonly revision: number };

const { triesMax, rememberedMax } = limits.otp;
const noNumber: OtpNumber = { to: null, otps: [], sendsMs: [], failuresMs: [], forgottenToMs: 0 };

export class OtpStore {
  readonly #publisher: Publisher;
  readonly #secret: Uint8Array;
  readonly #numbers: LatestRecords;
  readonly #failures: LatestRecords;
  readonly #remembered = new Map<string, Held>();

  /** `secret`: of the installation (idempotency/key-place.ts). */
  constructor(bus: Bus, publisher: Publisher, secret: Uint8Array, clock: Clock = systemClock) {
    this.#publisher = publisher;
    this.#secret = secret;
    this.#numbers = new LatestRecords(bus, 'otp', limits.otp, clock);
    this.#failures = new LatestRecords(bus, 'otp_failures', limits.otp, clock);
  }

  placeOf({ accountId, livemode }: OtpOwner, to: string): OtpPlace {
    return otpPlaceOf(this.#secret, accountId, livemode, to);
  }

  /** The record from the leader; without OTP when there is none. Null: NATS did not answer. */
  async read(owner: OtpOwner, place: OtpPlace): Promise<OtpNumber | null> {
    try {
      return (await this.#load(keyOf(owner, place), 'leader')).number;
    } catch (error) {
      ignoring(error, 'a record of one-time passwords could not be read, the client tries again');
      return null;
    }
  }

  /** What this thread knows of it without asking the leader; for what must not be exact. */
  async glance(owner: OtpOwner, place: OtpPlace): Promise<OtpNumber | null> {
    const remembered = this.#remembered.get(keyOf(owner, place));
    return remembered === undefined ? this.read(owner, place) : remembered.number;
  }

  /**
   * Stores what `decide` makes of the record. It decides first over what this thread remembers: a write over an old record is a
   * conflict. A decision that changes nothing is an answer only over a record from the leader. After a conflict it decides
   * again over what is stored then, unless that has its own mark: then the try before was stored.
   */
  async change<Answer>(
    owner: OtpOwner,
    place: OtpPlace,
    decide: (held: OtpNumber) => Decided<Answer>,
  ): Promise<OtpChange<Answer>> {
    const key = keyOf(owner, place);
    let from: 'memory' | 'leader' = 'memory';
    let tried: { readonly mark: string; readonly answer: Answer } | null = null;
    try {
      for (let tries = 0; tries < triesMax; tries += 1) {
        const held: Held = await this.#load(key, from);
        // Others may have written since.
        if (tried !== null && held.marks.includes(tried.mark)) return { ok: true, answer: tried.answer };
        const { next, answer } = decide(held.number);
        if (next === null) {
          if (from === 'leader') return { ok: true, answer };
          from = 'leader';
          continue;
        }
        tried = { mark: secretBytes(markOctets).toString('base64url'), answer };
        const marks = [tried.mark, ...held.marks].slice(0, marksMax);
        const written = await this.#write(key, { number: next, marks, revision: held.revision });
        if (written === 'stored') return { ok: true, answer };
        if (written !== 'conflict') return { ok: false };
        from = 'leader';
      }
    } catch (error) {
      ignoring(error, 'a record of one-time passwords could not be read, the client tries again');
    }
    return { ok: false };
  }

  /** Keeps the failed guesses of a number for as long as they count. A later list replaces an earlier one only. */
  async keepFailures(owner: OtpOwner, place: OtpPlace, failuresMs: readonly number[]): Promise<void> {
    try {
      await this.#mergeFailures(keyOf(owner, place), { failuresMs, forgottenToMs: 0 });
    } catch (error) {
      ignoring(error, 'failed guesses were not kept beyond their record: for its hour they are counted there');
    }
  }

  /**
   * Forgets the failed guesses of a number, in both buckets; how many there were. Both say up to when, so that a guess which is
   * compared at this moment brings back no earlier one. Rejects when NATS does not answer: a repeat does the rest.
   */
  async forgetFailures(owner: OtpOwner, place: OtpPlace, nowMs: number): Promise<number> {
    const key = keyOf(owner, place);
    const { number } = await this.#load(key, 'leader');
    const kept = await this.#failuresOf(key);
    const isCounted = (atMs: number) => atMs > nowMs - limits.otp.failuresTtlMs;
    const failed = new Set([...number.failuresMs, ...kept.failures.failuresMs].filter(isCounted));
    if (failed.size === 0) return 0;
    const toMs = Math.max(nowMs, ...failed);
    // What the record has is found again by a repeat, if this process ends in between.
    await this.#mergeFailures(key, { failuresMs: [], forgottenToMs: toMs });
    const changed = await this.change(owner, place, (held) => forgetFailures(held, toMs));
    if (!changed.ok) throw new Error('the record of the number was not changed');
    return failed.size;
  }

  async #mergeFailures(key: string, more: OtpFailures): Promise<void> {
    for (let tries = 0; tries < triesMax; tries += 1) {
      const { failures, revision } = await this.#failuresOf(key);
      const forgottenToMs = Math.max(failures.forgottenToMs, more.forgottenToMs);
      const all = [...new Set([...failures.failuresMs, ...more.failuresMs])].filter((atMs) => atMs > forgottenToMs);
      const failuresMs = all.toSorted((one, other) => other - one).slice(0, limits.otp.numberGuessesMax);
      const payload = encodeOtpFailures({ failuresMs, forgottenToMs });
      const subject = subjectInBucket('otp_failures', key);
      const result = await this.#publisher.publishOne(subject, payload, null, expectSequence(revision));
      if (result.ok) return;
      if (result.failure !== 'conflict') throw new Error(result.failure);
    }
    throw new Error('conflict');
  }

  async #failuresOf(key: string): Promise<{ readonly failures: OtpFailures; readonly revision: number }> {
    const stored = await this.#failures.leader(key);
    if (stored === null) return { failures: { failuresMs: [], forgottenToMs: 0 }, revision: 0 };
    return { failures: decodeOtpFailures(stored.octets), revision: stored.revision };
  }

  async #load(key: string, from: 'memory' | 'leader'): Promise<Held> {
    const remembered = from === 'memory' ? this.#remembered.get(key) : undefined;
    if (remembered !== undefined) return remembered;
    if (from === 'leader') {
      const stored = await this.#numbers.leader(key);
      return this.#remember(key, stored === null ? await this.#begun(key) : heldOf(stored));
    }
    // A first start: both at once, because nearly always there is neither.
    const [stored, begun] = await Promise.all([this.#numbers.any(key), this.#begun(key)]);
    return this.#remember(key, stored === null ? begun : heldOf(stored));
  }

  async #begun(key: string): Promise<Held> {
    const failures = await this.#failures.any(key);
    const known = failures === null ? {} : decodeOtpFailures(failures.octets);
    return { number: { ...noNumber, ...known }, marks: [], revision: 0 };
  }

  async #write(key: string, { number, marks, revision }: Held): Promise<'stored' | 'conflict' | 'unavailable'> {
    const payload = encodeOtpNumber(number, marks.join(' '));
    const subject = subjectInBucket('otp', key);
    const result = await this.#publisher.publishOne(subject, payload, null, expectSequence(revision));
    if (result.ok) {
      this.#remember(key, { number, marks, revision: result.seq });
      return 'stored';
    }
    this.#remembered.delete(key);
    return result.failure === 'conflict' ? 'conflict' : 'unavailable';
  }

  #remember(key: string, held: Held): Held {
    return setNewest(this.#remembered, key, held, rememberedMax);
  }
}

const markOctets = 9;
/** So many writes may come before a publish is repeated, after a second: five guesses at a code write ten times. 13 octets each. */
const marksMax = 10;

const keyOf = ({ accountId, livemode }: OtpOwner, place: OtpPlace) =>
  `${accountId}.${livemode ? 'live' : 'test'}.${place}`;

function heldOf({ octets, revision }: { readonly octets: Uint8Array; readonly revision: number }): Held {
  const { number, mark } = decodeOtpNumber(octets);
  return { number, marks: mark.split(' '), revision };
}
