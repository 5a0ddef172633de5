// Carriers that can take a message → its plan: ordered by the rule's choice, and those that are avoided right now
// behind the others, in their order. They stay in the plan: when all are avoided, the first one is still the best.
// What is wrong with a carrier stands behind its reason in either case.
// On the hot path: whatever does not depend on the message is made once.
import type { Category } from '../../model/message.ts';
import type { NationalLanguage } from '../../model/text/national-languages.ts';
import type { CarrierHealthView, CarrierOffer, Route, RouteChoice, RoutePlan, Way } from '../contract.ts';
import { isAvoided } from './avoid.ts';
import { isFixed, orderOf } from './order.ts';

export type AbleCarrier = { readonly offer: CarrierOffer; readonly why: string };

export function planner(
  able: readonly AbleCarrier[],
  leftOut: readonly Way[],
  choose: RouteChoice,
  category: Category,
  health: CarrierHealthView,
): Route {
  const offers = able.map((each) => each.offer);
  const wayOf = new Map(able.map(({ offer, why }) => [offer.name, { carrier: offer.name, why }]));
  const plainFor = (messageId: string) =>
    planOf(orderOf(offers, choose, messageId).map((offer) => wayOf.get(offer.name) as Way));
  const fixed = isFixed(offers, choose) ? plainFor('') : null;
  const avoided = (carrier: string) => isAvoided(health.stateOf(carrier), category);
  return {
    leftOut,
    nationalTables: tablesOfAll(offers),
    planFor(messageId) {
      const plain = fixed ?? plainFor(messageId);
      if (!plain.ways.some((way) => avoided(way.carrier))) return plain;
      const before = plain.ways.filter((way) => !avoided(way.carrier));
      const behind = plain.ways.filter((way) => avoided(way.carrier));
      const how = before.length === 0 ? 'no better way' : 'avoided';
      const told = behind.map(({ carrier, why }) => {
        const state = `${health.stateOf(carrier)} (${health.whyOf(carrier)})`;
        return { carrier, why: `${why}, ${how}: ${state}` };
      });
      return planOf([...before, ...told]);
    },
  };
}

function tablesOfAll([first, ...others]: readonly CarrierOffer[]): readonly NationalLanguage[] {
  const tables = first?.nationalTables ?? [];
  return tables.filter((language) => others.every((each) => each.nationalTables.includes(language)));
}

function planOf(ways: readonly Way[]): RoutePlan {
  const [first, ...rest] = ways;
  if (first === undefined) throw new Error('a plan without a carrier');
  const moved = rest.filter((way) => way.why.includes(', avoided: '));
  return {
    carrier: first.carrier,
    others: rest.map((way) => way.carrier),
    ways,
    trace: [first.why, ...moved.map((way) => `${way.carrier}: ${way.why}`)],
  };
}
