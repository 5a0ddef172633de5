// Two carriers for tests of second copies: a carrier actor of `alpha` and one of `beta`, each with its own simulator, and
// what became of messages, by EVENTS and by the copies that each simulator counted.
import type { CarrierActor } from '../../../../actors/carrier/carrier-actor.ts';
import type { CarrierActorParts } from '../../../../actors/carrier/assemble.ts';
import type { DeliveryEvent, EventKind } from '../../../../model/delivery-event.ts';
import type { Message } from '../../../../model/message.ts';
import { isTerminal } from '../../../../model/status.ts';
import { systemClock } from '../../../../platform/clock.ts';
import type { metrics } from '../../../../platform/telemetry.ts';
import type { HedgingRules } from '../../../../policy/otp-hedging/contract.ts';
import { parseLatency } from '../../../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../../../smpp/simulator/simulator.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { type SentMessage, eventsOf, statesOf } from '../../../support/invariant.ts';
import { until } from '../../../support/until.ts';

export const hedged: Partial<Message> = { category: 'otp', plan: ['beta'], hedge: 'may' };

/** Magic numbers: delivered after half a minute, and no receipt ever. */
export const [slow, silent] = ['0004', '0005'] as const;

export function movesWith(hedging: HedgingRules) {
  return { otpFailoverAfterMs: 60_000, othersFailoverAfterMs: 60_000, hedging };
}

type Metric = typeof metrics.otpHedges | typeof metrics.otpHedgeCancels;
type PeerOptions = { readonly magic?: boolean; readonly betaLatency?: string };

export async function openHedgingPeers(options: PeerOptions = {}): Promise<HedgingPeers> {
  const { magic = false, betaLatency = 'fixed:20' } = options;
  const harness = await openCarrierHarness({ magic });
  const latency = parseLatency(betaLatency)!;
  const beta = await startSimulator({ magic: false, latency, response: parseLatency('fixed:0')! });
  return new HedgingPeers(harness, beta);
}

export class HedgingPeers {
  readonly harness: CarrierHarness;
  readonly alpha: Simulator;
  readonly beta: Simulator;
  #numbers = 0;

  constructor(harness: CarrierHarness, beta: Simulator) {
    this.harness = harness;
    this.alpha = harness.simulator;
    this.beta = beta;
  }

  async close(): Promise<void> {
    await this.harness.stop();
    await this.beta.close();
  }

  /** Both actors; resolves with alpha's. */
  async actors(
    rules: HedgingRules,
    {
      alpha = {},
      beta = {},
      more = {},
    }: {
      readonly alpha?: Parameters<typeof carrierWith>[1];
      readonly beta?: Parameters<typeof carrierWith>[1];
      readonly more?: Partial<CarrierActorParts>;
    } = {},
  ): Promise<CarrierActor> {
    const args = [systemClock, movesWith(rules), undefined, undefined] as const;
    const { actor } = await this.harness.actor(carrierWith(this.alpha, alpha), ...args, more);
    await this.harness.actor(carrierWith(this.beta, { name: 'beta', ...beta }), ...args);
    return actor;
  }

  /** One-time passwords through alpha to numbers that end so. */
  async sendTo(last: string, count: number, changes: Partial<Message> = {}): Promise<SentMessage[]> {
    const each = Array.from({ length: count }, () => {
      this.#numbers += 1;
      const recipient = `+88017${String(this.#numbers).padStart(4, '0')}${last}`;
      return this.harness.send(1, { ...hedged, recipient, ...changes });
    });
    return (await Promise.all(each)).flat();
  }

  /** What makes a usual time and a budget: so many are sent and delivered. */
  async learn(count: number): Promise<void> {
    const first = await this.sendTo('1234', count);
    await until('the first are delivered', async () => (await this.countsOf(first))['delivered'] === count);
  }

  /** How many of them are in which status. */
  async countsOf(sent: readonly SentMessage[]): Promise<Record<string, number>> {
    const states = await statesOf(this.harness.bus);
    const counts: Record<string, number> = {};
    for (const { messageId } of sent) {
      const status = states.get(messageId)?.status ?? 'none';
      counts[status] = (counts[status] ?? 0) + 1;
    }
    return counts;
  }

  settled(sent: readonly SentMessage[]): Promise<Record<string, number>> {
    return until('every message terminal', async () => {
      const counts = await this.countsOf(sent);
      return Object.keys(counts).every((status) => status !== 'none' && isTerminal(status as never)) && counts;
    });
  }

  /** By message: how many copies alpha's simulator counted, and how many beta's. */
  copies(sent: readonly SentMessage[]): [number, number][] {
    return sent.map(({ nonce }) => [this.alpha.nonceCount(nonce), this.beta.nonceCount(nonce)]);
  }

  async kindsOf(kind: EventKind): Promise<DeliveryEvent[]> {
    return (await eventsOf(this.harness.bus)).filter((each) => each.kind === kind);
  }

  async eventsAbout({ messageId }: SentMessage): Promise<DeliveryEvent[]> {
    return (await eventsOf(this.harness.bus)).filter((each) => each.messageId === messageId);
  }

  async noneIsLeft(): Promise<void> {
    const { manager } = this.harness.bus;
    await until('no record is left', async () => (await manager.streams.info('MT_OTP')).state.messages === 0);
  }
}

/** Since this was called: how much a metric has grown for this carrier and result. */
export async function growthOf(metric: Metric, carrier: string, result: string): Promise<() => Promise<number>> {
  const now = async () =>
    (await metric.get()).values
      .filter(({ labels }) => labels.carrier === carrier && labels.result === result)
      .reduce((sum, { value }) => sum + value, 0);
  const before = await now();
  return async () => (await now()) - before;
}
