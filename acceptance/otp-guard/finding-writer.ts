// Stores what the guard of a thread finds in the bucket `otp_guard`, so that it is in effect in all threads, listed and
// reported. Several threads find the same: the first write holds.
import type { KV } from '@nats-io/kv';
import type { Bus } from '../../cluster/bus/connect.ts';
import {
  type BegunOutage,
  type EndedOutage,
  putBlock,
  releaseProbed,
  storeOutage,
  storeOutageEnd,
} from '../../cluster/bus/otp-guard-bucket.ts';
import { unreachable } from '../../platform/assert.ts';
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { GuardBlocks } from '../../policy/otp-guard/blocks.ts';
import type { GuardEvent } from '../../policy/otp-guard/contract.ts';
import { thresholds } from '../../policy/otp-guard/thresholds.ts';

type EventOf<Kind extends GuardEvent['kind']> = Extract<GuardEvent, { readonly kind: Kind }>;

export class FindingWriter {
  readonly #bus: Bus;
  readonly #bucket: KV;
  readonly #clock: Clock;
  readonly #blocks: () => GuardBlocks;
  #isStopped = false;

  /** `blocks`: those in effect in this thread. */
  constructor(bus: Bus, bucket: KV, clock: Clock, blocks: () => GuardBlocks) {
    this.#bus = bus;
    this.#bucket = bucket;
    this.#clock = clock;
    this.#blocks = blocks;
  }

  /** Nothing is tried again. */
  stop(): void {
    this.#isStopped = true;
  }

  act(events: readonly GuardEvent[]): void {
    for (const event of events) {
      switch (event.kind) {
        case 'blocked':
          void this.#stored(event);
          break;
        case 'beyond_share':
          beyondShare(event);
          break;
        case 'released':
          this.#released(event);
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

  /**
   * In effect in this thread already. Only what is stored is listed and can be released, so it is stored, or tried again, or
   * not in effect.
   */
  async #stored(event: EventOf<'blocked'>, isAgain = false): Promise<void> {
    const { kind: _, durationMs, insteadOf, ...block } = event;
    const { accountId, prefix, rule, statistic, threshold, times, shadow } = block;
    const fromMs = this.#clock.nowMs();
    const note =
      insteadOf === null ? '' : `instead of ${insteadOf}: ${limits.otpGuard.wideBlocksFrom} blocks are in effect`;
    const stored = { ...block, fromMs, untilMs: fromMs + durationMs, released: null, note };
    try {
      const put = await putBlock(this.#bus, this.#bucket, stored);
      if (put === 'unchanged') return;
      if (put === 'full') {
        this.#blocks().of(shadow).remove(block);
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
      shadow ? 'a rule in shadow mode would have blocked numbers' : 'numbers get no more codes for a time',
    );
  }

  #storeAgain(event: EventOf<'blocked'>): void {
    this.#clock.after(limits.otpGuard.storeAgainMs, () => {
      const isInEffect = this.#blocks().of(event.shadow).active(event, this.#clock.monotonicMs()) !== null;
      if (isInEffect && !this.#isStopped) void this.#stored(event, true);
    });
  }

  /** Ended in this thread already; the others learn it from the bucket, so it is tried until the block would have ended. */
  #released({ accountId, prefix, leftMs }: EventOf<'released'>): void {
    const enteredAtMs = this.#clock.nowMs();
    const untilMs = this.#clock.monotonicMs() + leftMs;
    const release = async (isAgain: boolean): Promise<void> => {
      try {
        const ended = await releaseProbed(this.#bucket, { accountId, prefix }, enteredAtMs, this.#clock.nowMs());
        if (ended !== null) log.info({ accountId, prefix }, 'a probe was entered: numbers get codes again');
      } catch (error) {
        const why = { prefix, error: messageOf(error) };
        if (!isAgain)
          log.warn(why, 'the release of a block could not be stored for the other threads: it is tried again');
        this.#clock.after(limits.otpGuard.storeAgainMs, () => {
          if (this.#clock.monotonicMs() < untilMs && !this.#isStopped) void release(true);
        });
      }
    };
    void release(false);
  }

  /** Every thread finds it, and logs it; the first one stores it for the reports. */
  async #suspended(event: EventOf<'suspended'>): Promise<void> {
    const { kind: _, accountIds, ...outage } = event;
    log.error(
      { alarm: 'otp_guard_suspended', ...outage },
      'receipts of a carrier fall together with verifications: an outage, and no reason to block numbers',
    );
    await this.#begun({ ...outage, accountIds, fromMs: this.#clock.nowMs() });
  }

  async #resumed(event: EventOf<'resumed'>): Promise<void> {
    const { kind: _, ...end } = event;
    log.warn(end, 'receipts of the carrier are back: numbers are judged again');
    await this.#ended(end);
  }

  async #unreachable({ accountId, prefix, codes }: EventOf<'unreachable'>): Promise<void> {
    log.warn({ accountId, prefix, codes }, 'no code arrives at these numbers: an outage, not judged for a time');
    const fromMs = this.#clock.nowMs();
    await this.#begun({ accountId, prefix, ...figuresOf(codes), accountIds: [accountId], fromMs });
  }

  async #unreachableOver({ accountId, prefix, codes }: EventOf<'unreachable_over'>): Promise<void> {
    log.info({ accountId, prefix, codes }, 'the outage of these numbers is over: they are judged again');
    await this.#ended({ accountId, prefix, ...figuresOf(codes) });
  }

  async #begun(outage: BegunOutage): Promise<void> {
    try {
      await storeOutage(this.#bus, this.#bucket, outage);
    } catch (error) {
      log.warn({ ...placeOf(outage), error: messageOf(error) }, 'an outage could not be stored for the reports');
    }
  }

  async #ended(end: EndedOutage): Promise<void> {
    try {
      await storeOutageEnd(this.#bucket, end, this.#clock.nowMs());
    } catch (error) {
      log.warn({ ...placeOf(end), error: messageOf(error) }, 'the end of an outage could not be stored');
    }
  }
}

/** Seen in no list: a rule found numbers, and nothing is blocked. */
function beyondShare({ accountId, prefix, rule, shadow }: Omit<EventOf<'beyond_share'>, 'kind'>): void {
  metrics.otpGuardBlocks.inc({ rule, mode: 'beyond_share' });
  if (shadow) return;
  log.error({ accountId, prefix, rule }, 'numbers are not blocked: the account has its share of blocks in effect');
}

const placeOf = (outage: EndedOutage) =>
  'prefix' in outage ? { accountId: outage.accountId, prefix: outage.prefix } : { carrier: outage.carrier };

/** Of an outage of numbers: so many codes in a row did not arrive. */
const figuresOf = (codes: number) => ({ statistic: codes, threshold: thresholds.undelivered.codesMin });
