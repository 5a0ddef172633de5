// Serves a carrier that is no longer configured with an ordinary actor without binds. It reads what earlier
// incarnations wrote, so that what may have reached the carrier ends as `unknown` and is not sent again; the rest goes
// to a carrier of today's routes with the next hop, or ends as `failed`, `no_route`.
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import type { CarrierConfig } from '../../config/configuration.ts';
import { carrierDrainMs } from '../../config/drain-times.ts';
import type { Message } from '../../model/message.ts';
import { categories } from '../../model/message.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { CarrierHealthView } from '../../policy/contract.ts';
import { ReconnectBudget } from '../../smpp/reconnect-budget.ts';
import { CarrierActor } from '../carrier/carrier-actor.ts';
import type { ServingRemoved } from './served-by-one.ts';

export type RemovedCarrierParts = {
  readonly bus: Bus;
  readonly cipher: BodyCipher;
  readonly carriers: CarrierHealthView;
  /** Carriers that accept the message by today's routes, the best first. */
  readonly candidatesOf: (message: Message) => readonly string[];
  /** Any configured carrier: supplies the settings that a removed one lacks and does not use. */
  readonly like: CarrierConfig;
  readonly clock?: Clock;
};

export async function serveRemoved(name: string, parts: RemovedCarrierParts): Promise<ServingRemoved> {
  const { like, candidatesOf, clock = systemClock, ...rest } = parts;
  // Its own: closed when another node may serve the carrier, so that none of our publishes follows that node's.
  const publisher = new Publisher(rest.bus, { deadlineMs: Number.POSITIVE_INFINITY, clock });
  const actor = new CarrierActor({
    ...rest,
    publisher,
    carrier: { ...like, name, simulate: null, binds: [], classes: [...categories], errors: {} },
    simulated: {},
    reconnectBudget: new ReconnectBudget(limits.smpp.connectsPerSecond),
    moves: { otpFailoverAfterMs: 0, othersFailoverAfterMs: 0 },
    candidatesOfRemoved: candidatesOf,
    clock,
  });
  let isCut = false;
  try {
    await actor.start();
  } catch (error) {
    publisher.close();
    throw error;
  }
  return {
    cut() {
      isCut = true;
      publisher.close();
    },
    async stop() {
      await actor.drain(isCut ? limits.removedCarriers.cutDrainMs : carrierDrainMs(like));
      publisher.close();
    },
  };
}
