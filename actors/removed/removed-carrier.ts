// A carrier that is no longer configured, served by an ordinary actor without binds: it reads what earlier lives wrote, so
// that what may be at the carrier ends as `unknown` and is not sent again; the rest goes to a carrier of today's routes
// with one hop more, or ends as `failed`, `no_route`.
import type { BodyCipher } from '../../cluster/bus/body-cipher.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import type { CarrierConfig } from '../../cluster/config/configuration.ts';
import { carrierDrainMs } from '../../cluster/config/drain-times.ts';
import type { Message } from '../../model/message.ts';
import { categories } from '../../model/message.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { CarrierHealthView } from '../../policy/contract.ts';
import { ReconnectBudget } from '../../smpp/reconnect-budget.ts';
import { CarrierActor } from '../carrier/carrier-actor.ts';
import type { RemovedCarrier } from './removed-carriers.ts';

export type RemovedCarrierParts = {
  readonly bus: Bus;
  readonly publisher: Publisher;
  readonly cipher: BodyCipher;
  readonly carriers: CarrierHealthView;
  /** Carriers that take the message by today's routes, the best first. */
  readonly waysOf: (message: Message) => readonly string[];
  /** Any configured carrier: what is not said of the removed one is taken from it and not used. */
  readonly like: CarrierConfig;
  readonly clock?: Clock;
};

export async function serveRemoved(name: string, parts: RemovedCarrierParts): Promise<RemovedCarrier> {
  const { like, waysOf, clock = systemClock, ...rest } = parts;
  const actor = new CarrierActor({
    ...rest,
    carrier: { ...like, name, simulate: null, binds: [], classes: [...categories], errors: {} },
    simulated: {},
    reconnectBudget: new ReconnectBudget(limits.smpp.connectsPerSecond),
    moves: { otpMovesAfterMs: 0, othersMoveAfterMs: 0 },
    waysOfRemoved: waysOf,
    clock,
  });
  await actor.start();
  return { stop: () => actor.drain(carrierDrainMs(like)) };
}
