// The guard of one ingress thread, and what it shares with the guards of all other threads. Each thread counts all codes:
// its own at once, those of other threads when they publish them (core NATS, some 50 ms later). A block that a thread
// decides is stored in the bucket `otp_guard`, which all threads watch; the thread whose write comes first publishes the
// event. While NATS is away no code can be sent either. From the same counts follows the conversion of each carrier, by
// which routes may be drawn.
import type { KV } from '@nats-io/kv';
import type { Bus } from '../../cluster/bus/connect.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import {
  type BegunOutage,
  type EndedOutage,
  beginOutage,
  endOutage,
  putBlock,
  releaseBlock,
} from '../../cluster/bus/otp-guard-bucket.ts';
import { type GuardObservation, GuardTalk } from '../../cluster/bus/otp-guard-talk.ts';
import { WatchedBucket } from '../../directory/watched-bucket.ts';
import { unreachable } from '../../platform/assert.ts';
import type { Cancel, Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { type Random, secretBytes, systemRandom } from '../../platform/random.ts';
import { RotatingMap } from '../../platform/rotating-map.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { ConversionView } from '../../policy/otp-conversion/contract.ts';
import { ConversionScores } from '../../policy/otp-conversion/scores.ts';
import type {
  GuardEvent,
  GuardNumber,
  GuardRequest,
  GuardSend,
  GuardVerdict,
  OtpGuardRules,
} from '../../policy/otp-guard/contract.ts';
import { type BegunCode, OtpGuard } from '../../policy/otp-guard/guard.ts';
import { thresholds } from '../../policy/otp-guard/thresholds.ts';
import type { GuardDecisions } from './guard-decisions.ts';
import { GuardEntries } from './guard-entries.ts';

/** Who asks for a code; the account's lists come from the bucket and the configuration. */
export type GuardQuestion = Omit<GuardRequest, 'destinations' | 'safeList'>;
type EventOf<Kind extends GuardEvent['kind']> = Extract<GuardEvent, { readonly kind: Kind }>;

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
type VerifiedCode = GuardNumber & { readonly messageId: string | null };

export class SharedGuard {
  /** How many codes of each carrier are entered, as this thread has counted since its start. */
  readonly conversions: ConversionView;
  readonly #parts: SharedGuardParts;
  readonly #scores = new ConversionScores(limits.otpConversion);
  readonly #bucket: KV;
  readonly #entries: WatchedBucket<GuardEntries>;
  readonly #guard: OtpGuard;
  readonly #talk: GuardTalk;
  readonly #stops: readonly Cancel[];
  /** The messages that were counted, by their ids: several tries of a request, at several nodes, may report one. */
  readonly #counted: RotatingMap<string, true>;
  #rules: OtpGuardRules;
  #isStopped = false;

  /** Resolves when the blocks in effect are in memory. */
  static async open(parts: SharedGuardParts): Promise<SharedGuard> {
    const bucket = await openBucket(parts.bus, 'otp_guard');
    const newEntries = () => new GuardEntries(parts.clock);
    const entries = new WatchedBucket(parts.bus, 'otp_guard', newEntries, () => {}, parts.clock);
    await entries.start();
    return new SharedGuard(parts, bucket, entries);
  }

  private constructor(parts: SharedGuardParts, bucket: KV, entries: WatchedBucket<GuardEntries>) {
    const { bus, clock, rules } = parts;
    this.#parts = parts;
    this.#bucket = bucket;
    this.#entries = entries;
    this.#rules = rules;
    this.#guard = new OtpGuard(rules.modes, limits.otpGuard, () => entries.state.blocks);
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
    this.#guard.configure(rules.modes);
  }

  decide(question: GuardQuestion): GuardVerdict {
    const { clock, random = systemRandom, decisions } = this.#parts;
    const { destinations, safeList } = this.#rules;
    const own = this.#entries.state.listsOf(question.accountId);
    const lists = {
      destinations: own?.destinations ?? destinations,
      safeList: [...safeList, ...(own?.safeList ?? [])],
    };
    const verdict = this.#guard.decide({ ...question, ...lists }, clock.monotonicMs(), random.unit());
    if (verdict.refusal !== null) {
      const { rule, action } = verdict.refusal;
      metrics.otpGuardRefusals.inc({ rule, action });
      decisions?.record(question, verdict.refusal);
    }
    for (const finding of verdict.shadow) {
      metrics.otpGuardRefusals.inc({ rule: finding.rule, action: 'shadow' });
      decisions?.record(question, finding);
    }
    return verdict;
  }

  /** A code that is about to be sent: counted here at once, so that requests at the same moment count too. */
  begin(send: GuardSend): BegunCode {
    const { begun, events } = this.#guard.begin(send, this.#parts.clock.monotonicMs());
    this.#act(events);
    return begun;
  }

  /**
   * It was accepted, by this try or by another one: the others count it as well, if they do not know it. `messageId`: null
   * where there is one try.
   */
  accepted(begun: BegunCode, carrier: string, messageId: string | null): void {
    const sent = { kind: 'sent', ...begun.send, carrier, ...idOf(messageId) } as const;
    if (this.#isNew(sent)) this.#act(this.#guard.accepted(begun, carrier, this.#parts.clock.monotonicMs()));
    else this.#guard.withdraw(begun);
    this.#talk.publish(sent);
  }

  /** It was not accepted: it counts no more. */
  withdraw(begun: BegunCode): void {
    this.#guard.withdraw(begun);
  }

  /** A code was sent again: as `accepted`. */
  resent(send: Omit<GuardSend, 'carrier' | 'isProbe'>, messageId: string | null): void {
    const observation = { kind: 'resent', ...send, ...idOf(messageId) } as const;
    this.#take(observation);
    this.#talk.publish(observation);
  }

  verified({ accountId, to, messageId }: VerifiedCode): void {
    const observation = { kind: 'verified', accountId, to, ...idOf(messageId) } as const;
    this.#take(observation);
    this.#talk.publish(observation);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const stop of this.#stops) stop();
    this.#talk.flush();
    await this.#entries.close();
  }

  #take(observation: GuardObservation): void {
    const nowMs = this.#parts.clock.monotonicMs();
    switch (observation.kind) {
      case 'sent':
        if (!this.#isNew(observation)) return;
        return this.#act(this.#guard.sent(observation, nowMs));
      case 'resent':
        if (!this.#isNew(observation)) return;
        return this.#act(this.#guard.resent({ ...observation, carrier: '', isProbe: false }, nowMs));
      case 'verified':
        if (observation.messageId !== undefined) this.#scores.verified(observation.messageId, nowMs);
        return this.#act(this.#guard.verified(observation, nowMs));
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
    this.#act(this.#guard.advance(nowMs));
    this.#scores.advance(nowMs);
    for (const [carrier, { verified, missed }] of this.#scores.ofCarriers(nowMs)) {
      metrics.otpConversion.set({ carrier, result: 'verified' }, verified);
      metrics.otpConversion.set({ carrier, result: 'missed' }, missed);
    }
  }

  #act(events: readonly GuardEvent[]): void {
    for (const event of events) {
      switch (event.kind) {
        case 'blocked':
          void this.#stored(event);
          break;
        case 'beyond_share':
          beyondShare(event);
          break;
        case 'released':
          void this.#released(event);
          break;
        case 'suspended':
          void this.#suspended(event);
          break;
        case 'resumed':
          void this.#resumed(event);
          break;
        case 'unreachable':
          void this.#unreachable(event);
          break;
        case 'unreachable_over':
          void this.#unreachableOver(event);
          break;
        default:
          unreachable(event);
      }
    }
  }

  /** In effect in this thread already. Only what is stored is listed and can be released, so it is stored, or tried again, or not in effect. */
  async #stored(event: EventOf<'blocked'>, isAgain = false): Promise<void> {
    const { kind: _, durationMs, insteadOf, ...block } = event;
    const { accountId, prefix, rule, statistic, threshold, times, shadow } = block;
    const fromMs = this.#parts.clock.nowMs();
    const note =
      insteadOf === null ? '' : `instead of ${insteadOf}: ${limits.otpGuard.wideBlocksFrom} blocks are in effect`;
    const stored = { ...block, fromMs, untilMs: fromMs + durationMs, released: null, note };
    try {
      const put = await putBlock(this.#parts.bus, this.#bucket, stored);
      if (put === 'unchanged') return;
      if (put === 'full') {
        this.#entries.state.blocks.remove(block);
        return beyondShare(block);
      }
    } catch (error) {
      const why = { prefix, error: messageOf(error) };
      if (!isAgain) log.warn(why, 'a block could not be stored for the other threads: it is tried again');
      return this.#storeAgain(event);
    }
    metrics.otpGuardBlocks.inc({ rule, mode: shadow ? 'shadow' : insteadOf === null ? 'on' : 'wide' });
    log.warn(
      { accountId, prefix, rule, statistic, threshold, times, shadow, note },
      'numbers get no more codes for a time',
    );
  }

  #storeAgain(event: EventOf<'blocked'>): void {
    const { clock } = this.#parts;
    clock.after(limits.otpGuard.storeAgainMs, () => {
      const isInEffect = this.#entries.state.blocks.active(event, clock.monotonicMs()) !== null;
      if (isInEffect && !this.#isStopped) void this.#stored(event, true);
    });
  }

  async #released({ accountId, prefix }: EventOf<'released'>): Promise<void> {
    try {
      const ended = await releaseBlock(this.#bucket, { accountId, prefix }, 'probe', this.#parts.clock.nowMs());
      if (ended !== null) log.info({ accountId, prefix }, 'a probe was entered: numbers get codes again');
    } catch (error) {
      log.warn({ prefix, error: messageOf(error) }, 'the release of a block could not be stored');
    }
  }

  /** Every thread finds it, and logs it; the first one stores it for the reports. */
  async #suspended(event: EventOf<'suspended'>): Promise<void> {
    const { kind: _, accountIds, ...outage } = event;
    log.error(
      { alarm: 'otp_guard_suspended', ...outage },
      'receipts of a carrier fall together with verifications: an outage, and no reason to block numbers',
    );
    await this.#begun({ ...outage, accountIds, fromMs: this.#parts.clock.nowMs() });
  }

  async #resumed(event: EventOf<'resumed'>): Promise<void> {
    const { kind: _, ...end } = event;
    log.warn(end, 'receipts of the carrier are back: numbers are judged again');
    await this.#ended(end);
  }

  async #unreachable({ accountId, prefix, codes }: EventOf<'unreachable'>): Promise<void> {
    log.warn({ accountId, prefix, codes }, 'no code arrives at these numbers: an outage, not judged for a time');
    const fromMs = this.#parts.clock.nowMs();
    await this.#begun({ accountId, prefix, ...figuresOf(codes), accountIds: [accountId], fromMs });
  }

  async #unreachableOver({ accountId, prefix, codes }: EventOf<'unreachable_over'>): Promise<void> {
    log.info({ accountId, prefix, codes }, 'the outage of these numbers is over: they are judged again');
    await this.#ended({ accountId, prefix, ...figuresOf(codes) });
  }

  async #begun(outage: BegunOutage): Promise<void> {
    try {
      await beginOutage(this.#parts.bus, this.#bucket, outage);
    } catch (error) {
      log.warn({ ...placeOf(outage), error: messageOf(error) }, 'an outage could not be stored for the reports');
    }
  }

  async #ended(end: EndedOutage): Promise<void> {
    try {
      await endOutage(this.#bucket, end, this.#parts.clock.nowMs());
    } catch (error) {
      log.warn({ ...placeOf(end), error: messageOf(error) }, 'the end of an outage could not be stored');
    }
  }
}

/** Seen in no list: a rule found numbers, and nothing is blocked. */
function beyondShare({
  accountId,
  prefix,
  rule,
}: Pick<EventOf<'beyond_share'>, 'accountId' | 'prefix' | 'rule'>): void {
  metrics.otpGuardBlocks.inc({ rule, mode: 'beyond_share' });
  log.error({ accountId, prefix, rule }, 'numbers are not blocked: the account has its share of blocks in effect');
}

const idOf = (messageId: string | null) => (messageId === null ? {} : { messageId });

const placeOf = (outage: EndedOutage) =>
  'prefix' in outage ? { accountId: outage.accountId, prefix: outage.prefix } : { carrier: outage.carrier };

/** Of an outage of numbers: so many codes in a row did not arrive. */
const figuresOf = (codes: number) => ({ statistic: codes, threshold: thresholds.undelivered.codesMin });
