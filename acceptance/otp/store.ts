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
import type { OtpNumber } from '../../model/otp.ts';
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
import type { Decided } from '../../policy/otp/rules.ts';

/** Whose record it is: another account's is not found under the same place. */
export type OtpOwner = { readonly accountId: AccountId; readonly livemode: boolean };

/** `unavailable`: NATS did not answer, or the bucket is full; the change may be stored. */
export type OtpChange<Answer> = { readonly ok: true; readonly answer: Answer } | { readonly ok: false };

/** `marks`: of its last writes, the newest first. */
type Held = { readonly number: OtpNumber; readonly marks: readonly string[]; readonly revision: number };

const { triesMax, rememberedMax } = limits.otp;
const noNumber: OtpNumber = { to: null, otps: [], sendsMs: [], failuresMs: [] };

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

  /** Stores what `decide` makes of the record; after a conflict it decides again over what is stored then. */
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
        // The first try was stored although its answer was lost, and others have written since.
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
    const key = keyOf(owner, place);
    try {
      for (let tries = 0; tries < triesMax; tries += 1) {
        const stored = await this.#failures.leader(key);
        const before = stored === null ? [] : decodeOtpFailures(stored.octets);
        const all = [...new Set([...before, ...failuresMs])].toSorted((one, other) => other - one);
        const payload = encodeOtpFailures(all.slice(0, limits.otp.numberGuessesMax));
        const expected = expectSequence(stored?.revision ?? 0);
        const subject = subjectInBucket('otp_failures', key);
        const result = await this.#publisher.publishOne(subject, payload, null, expected);
        if (result.ok) return;
        if (result.failure !== 'conflict') throw new Error(result.failure);
      }
      throw new Error('conflict');
    } catch (error) {
      ignoring(error, 'failed guesses were not kept beyond their record: for its hour they are counted there');
    }
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
    const failuresMs = failures === null ? [] : decodeOtpFailures(failures.octets);
    return { number: { ...noNumber, failuresMs }, marks: [], revision: 0 };
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
/** A publish is repeated after a second: five guesses at a code write ten times. 13 octets each. */
const marksMax = 10;

const keyOf = ({ accountId, livemode }: OtpOwner, place: OtpPlace) =>
  `${accountId}.${livemode ? 'live' : 'test'}.${place}`;

function heldOf({ octets, revision }: { readonly octets: Uint8Array; readonly revision: number }): Held {
  const { number, mark } = decodeOtpNumber(octets);
  return { number, marks: mark.split(' '), revision };
}
