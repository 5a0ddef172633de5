// The guard of one ingress thread, and what it shares with the guards of all other threads. Each thread counts all codes:
// its own at once, those of other threads when they publish them (core NATS, some 50 ms later). A block that a thread
// decides is stored in the bucket `otp_guard`, which all threads watch; the thread whose write comes first publishes the
// event. While NATS is away no code can be sent either. From the same counts follows the conversion of each carrier, by
// which routes may be drawn.
import type { Bus } from '../../cluster/bus/connect.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { type GuardObservation, GuardTalk } from '../../cluster/bus/otp-guard-talk.ts';
import { WatchedBucket } from '../../directory/watched-bucket.ts';
import { unreachable } from '../../platform/assert.ts';
import type { Cancel, Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { type Random, secretBytes, systemRandom } from '../../platform/random.ts';
import { RotatingMap } from '../../platform/rotating-map.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { ConversionView } from '../../policy/otp-conversion/contract.ts';
import { ConversionScores } from '../../policy/otp-conversion/scores.ts';
import type {
  GuardNumber,
  GuardRequest,
  GuardSend,
  GuardVerdict,
  OtpGuardRules,
} from '../../policy/otp-guard/contract.ts';
import { type BegunCode, type EnteredCode, OtpGuard } from '../../policy/otp-guard/guard.ts';
import { SafeList } from '../../policy/otp-guard/safe-list.ts';
import { FindingWriter } from './finding-writer.ts';
import type { GuardDecisions } from './guard-decisions.ts';
import { GuardEntries, type ReleasedBlock } from './guard-entries.ts';

/** Who asks for a code; the account's destinations come from the bucket and the configuration. */
export type GuardQuestion = Omit<GuardRequest, 'destinations'>;

type SharedGuardParts = {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly rules: OtpGuardRules;
  readonly random?: Random;
  /** Gets the answers to requests. */
  readonly decisions?: Pick<GuardDecisions, 'record'>;
};

const nameBytes = 8;

/** `messageId`: the only one with the code; null where conversion is not counted. */
type VerifiedCode = EnteredCode & { readonly messageId: string | null };

export class SharedGuard {
  /** How many codes of each carrier are entered, as this thread has counted since its start. */
  readonly conversions: ConversionView;
  readonly #parts: SharedGuardParts;
  readonly #scores = new ConversionScores(limits.otpConversion);
  readonly #entries: WatchedBucket<GuardEntries>;
  readonly #guard: OtpGuard;
  readonly #findings: FindingWriter;
  readonly #talk: GuardTalk;
  readonly #stops: readonly Cancel[];
  /** The messages that were counted, by their ids: several tries of a request, at several nodes, may report one. */
  readonly #counted: RotatingMap<string, true>;
  #rules: OtpGuardRules;
  #safe: SafeList;

  /** Resolves when the blocks in effect are in memory. */
  static async open(parts: SharedGuardParts): Promise<SharedGuard> {
    const bucket = await openBucket(parts.bus, 'otp_guard');
    let shared: SharedGuard | null = null;
    let releasedTo = 0;
    const released = ({ revision, ...place }: ReleasedBlock) => {
      // They are read again when the bucket is.
      if (revision <= releasedTo) return;
      releasedTo = revision;
      // A guard that has counted nothing yet has nothing to forget.
      if (shared !== null) shared.#guard.released(place);
    };
    const newEntries = () => new GuardEntries(parts.clock, released);
    const entries = new WatchedBucket(parts.bus, 'otp_guard', newEntries, () => {}, parts.clock);
    await entries.start();
    const writer = new FindingWriter(parts.bus, bucket, parts.clock, () => entries.state.blocks);
    shared = new SharedGuard(parts, writer, entries);
    return shared;
  }

  private constructor(parts: SharedGuardParts, findings: FindingWriter, entries: WatchedBucket<GuardEntries>) {
    const { bus, clock, rules } = parts;
    this.#parts = parts;
    this.#findings = findings;
    this.#entries = entries;
    this.#rules = rules;
    this.#safe = new SafeList(rules.safeList);
    const isSafe = (number: GuardNumber) => this.#safe.has(number.to) || entries.state.isSafe(number);
    this.#guard = new OtpGuard(rules.modes, limits.otpGuard, () => entries.state.blocks, isSafe);
    this.#talk = new GuardTalk(bus, secretBytes(nameBytes).toString('hex'), clock);
    this.#counted = new RotatingMap(limits.otp.countedMs, limits.otpGuard.countedMax, clock);
    this.conversions = { of: (place) => this.#scores.of(place, clock.monotonicMs()) };
    this.#stops = [
      this.#talk.listen((observation) => this.#take(observation)),
      clock.every(limits.otpGuard.advanceEveryMs, () => this.#advance()),
    ];
  }

  configure(rules: OtpGuardRules): void {
    this.#rules = rules;
    this.#safe = new SafeList(rules.safeList);
    this.#guard.configure(rules.modes);
  }

  decide(question: GuardQuestion): GuardVerdict {
    const { clock, random = systemRandom, decisions } = this.#parts;
    const own = this.#entries.state.listsOf(question.accountId);
    const destinations = own?.destinations ?? this.#rules.destinations;
    const verdict = this.#guard.decide({ ...question, destinations }, clock.monotonicMs(), random.unit());
    if (verdict.refusal !== null) {
      const { rule, action } = verdict.refusal;
      metrics.otpGuardRefusals.inc({ rule, action });
      decisions?.record(question, 'refusal', verdict.refusal);
    }
    for (const finding of verdict.shadow) {
      metrics.otpGuardRefusals.inc({ rule: finding.rule, action: 'shadow' });
      decisions?.record(question, 'refusal', finding);
    }
    if (verdict.letThrough !== null) decisions?.record(question, verdict.letThrough.as, verdict.letThrough.finding);
    return verdict;
  }

  /** A code that is about to be sent: counted here at once, so that requests at the same moment count too. */
  begin(send: GuardSend): BegunCode {
    const { begun, events } = this.#guard.begin(send, this.#parts.clock.monotonicMs());
    this.#findings.act(events);
    return begun;
  }

  /**
   * It was accepted, by this try or by another one: the others count it as well, if they do not know it. `messageId`: null
   * where there is one try.
   */
  accepted(begun: BegunCode, carrier: string, messageId: string | null): void {
    const { ownCode, ...send } = begun.send;
    const sent = { kind: ownCode === true ? 'own_sent' : 'sent', ...send, carrier, ...idOf(messageId) } as const;
    if (this.#isNew(sent)) this.#findings.act(this.#guard.accepted(begun, carrier, this.#parts.clock.monotonicMs()));
    else this.#guard.withdraw(begun);
    this.#talk.publish(sent);
  }

  /** It was not accepted: it counts no more. */
  withdraw(begun: BegunCode): void {
    this.#guard.withdraw(begun);
  }

  /** A code was sent again: as `accepted`. */
  resent({ ownCode, ...send }: Omit<GuardSend, 'carrier' | 'isProbe'>, messageId: string | null): void {
    const kind = ownCode === true ? 'own_resent' : 'resent';
    const observation = { kind, ...send, ...idOf(messageId) } as const;
    this.#take(observation);
    this.#talk.publish(observation);
  }

  verified({ accountId, to, ownCode, messageId }: VerifiedCode): void {
    const kind = ownCode === true ? 'own_verified' : 'verified';
    const observation = { kind, accountId, to, ...idOf(messageId) } as const;
    this.#take(observation);
    this.#talk.publish(observation);
  }

  async stop(): Promise<void> {
    this.#findings.stop();
    for (const stop of this.#stops) stop();
    this.#talk.flush();
    await this.#entries.close();
  }

  #take(observation: GuardObservation): void {
    const nowMs = this.#parts.clock.monotonicMs();
    switch (observation.kind) {
      case 'sent':
      case 'own_sent': {
        if (!this.#isNew(observation)) return;
        return this.#findings.act(this.#guard.sent(ownOrNot(observation), nowMs));
      }
      case 'resent':
      case 'own_resent': {
        if (!this.#isNew(observation)) return;
        const send = { ...ownOrNot(observation), carrier: '', isProbe: false };
        return this.#findings.act(this.#guard.resent(send, nowMs));
      }
      case 'verified':
      case 'own_verified':
        if (observation.messageId !== undefined) this.#scores.verified(observation.messageId, nowMs);
        return this.#findings.act(this.#guard.verified(ownOrNot(observation), nowMs));
      case 'received':
        return this.#guard.received(observation);
      case 'taken':
        return this.#scores.taken(observation, nowMs);
      case 'copied':
        return this.#scores.copied(observation.messageId);
      default:
        return unreachable(observation);
    }
  }

  #isNew({ messageId }: { readonly messageId?: string }): boolean {
    if (messageId === undefined) return true;
    if (this.#counted.get(messageId) === true) return false;
    this.#counted.set(messageId, true);
    return true;
  }

  #advance(): void {
    const nowMs = this.#parts.clock.monotonicMs();
    this.#findings.act(this.#guard.advance(nowMs));
    this.#scores.advance(nowMs);
    for (const [carrier, { verified, missed }] of this.#scores.ofCarriers(nowMs)) {
      metrics.otpConversion.set({ carrier, result: 'verified' }, verified);
      metrics.otpConversion.set({ carrier, result: 'missed' }, missed);
    }
  }
}

const idOf = (messageId: string | null) => (messageId === null ? {} : { messageId });

/** The kind of an observation says whose code it is. */
const ownOrNot = <Observation extends { readonly kind: string }>(observation: Observation) => ({
  ...observation,
  ownCode: observation.kind.startsWith('own_'),
});
