// Turns the carriers that can take a message into its plan: ordered by the rule's choice, avoided ones behind the
// others. They stay in the plan: when all are avoided, the first is still the best, and its reason says why it is
// avoided. On the hot path: what does not depend on the message is computed once.
import type { Category } from '../../model/message.ts';
import type { NationalLanguage } from '../../model/text/national-languages.ts';
import type { CarrierHealthView, CarrierOffer, Route, RouteChoice, RoutePlan, RouteCandidate } from '../contract.ts';
import { isAvoided } from './avoid.ts';
import { isFixed, orderOf } from './order.ts';

export type AbleCarrier = { readonly offer: CarrierOffer; readonly why: string };

export function planner(
  able: readonly AbleCarrier[],
  excluded: readonly RouteCandidate[],
  choose: RouteChoice,
  category: Category,
  health: CarrierHealthView,
): Route {
  const offers = able.map((each) => each.offer);
  const candidateOf = new Map(able.map(({ offer, why }) => [offer.name, { carrier: offer.name, why }]));
  const plainFor = (messageId: string) =>
    planOf(orderOf(offers, choose, messageId).map((offer) => candidateOf.get(offer.name) as RouteCandidate));
  const fixed = isFixed(offers, choose) ? plainFor('') : null;
  const avoided = (carrier: string) => isAvoided(health.stateOf(carrier), category);
  return {
    excluded,
    nationalTables: tablesOfAll(offers),
    planFor(messageId) {
      const plain = fixed ?? plainFor(messageId);
      if (!plain.candidates.some((candidate) => avoided(candidate.carrier))) return plain;
      const before = plain.candidates.filter((candidate) => !avoided(candidate.carrier));
      const behind = plain.candidates.filter((candidate) => avoided(candidate.carrier));
      const how = before.length === 0 ? 'no better way' : 'avoided';
      const explained = behind.map(({ carrier, why }) => {
        const state = `${health.stateOf(carrier)} (${health.reasonOf(carrier)})`;
        return { carrier, why: `${why}, ${how}: ${state}` };
      });
      return planOf([...before, ...explained]);
    },
  };
}

function tablesOfAll([first, ...others]: readonly CarrierOffer[]): readonly NationalLanguage[] {
  const tables = first?.nationalTables ?? [];
  return tables.filter((language) => others.every((each) => each.nationalTables.includes(language)));
}

function planOf(candidates: readonly RouteCandidate[]): RoutePlan {
  const [first, ...rest] = candidates;
  if (first === undefined) throw new Error('a plan without a carrier');
  const moved = rest.filter((candidate) => candidate.why.includes(', avoided: '));
  return {
    carrier: first.carrier,
    others: rest.map((candidate) => candidate.carrier),
    candidates,
    trace: [first.why, ...moved.map((candidate) => `${candidate.carrier}: ${candidate.why}`)],
  };
}
