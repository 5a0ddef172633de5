// Finds the carriers for a message, in order, and makes its plan. Test keys always use the sandbox; for live keys the
// first explicit route that matches number and category decides, else the carrier of the number (ported, or by the
// longest national prefix) followed by the configured fallback. Pure: health is a parameter, read when a plan is made.
// Only configured carriers are used. The same message id gives the same order, so that a repeat under the same
// idempotency key takes the same route; where a route is drawn by conversion, as long as that is the same.
import { type Category, categories } from '../../model/message.ts';
import { senderKindOf } from '../../model/sender.ts';
import type {
  CarrierHealthView,
  CarrierOffer,
  Route,
  RouteChoice,
  RoutingRules,
  RouteCandidate,
  RoutePlan,
} from '../contract.ts';
import { type HomeCarrier, homeCarriers } from '../country/number-plan.ts';
import { perObject } from '../../platform/per-object.ts';
import { seededRandom } from '../../platform/random.ts';
import type { ConversionView } from '../otp-conversion/contract.ts';
import { conversionFigures } from '../otp-conversion/figures.ts';
import { everyCarrierIsGood, isAvoided } from './avoid.ts';
import { type DrawnCarrier, codesOf, drawByConversion } from './conversion-draw.ts';
import type { NationalLanguage } from '../../model/text/national-languages.ts';

export type Routed = Route | { readonly why: string };

export type RouteRequest = {
  readonly to: string;
  readonly category: Category;
  readonly from: string;
  readonly livemode: boolean;
};

export type Router = { route(question: RouteRequest): Routed };

export type RouterOptions = {
  readonly health?: CarrierHealthView;
  /** The carrier a number was ported to by an imported registry, or null. */
  readonly portedTo?: (to: string) => string | null;
  /** How many codes of each carrier are entered. Without it nothing is drawn by it: the order is that of the list. */
  readonly conversions?: ConversionView;
};

/** The carriers that one rule names, before they are filtered. */
type Rule = { readonly carriers: readonly string[]; readonly choose: RouteChoice; reasonOf(at: number): string };

export function router(rules: RoutingRules, options: RouterOptions = {}): Router {
  const { portedTo = () => null } = options;
  const offers = new Map(rules.carriers.map((carrier) => [carrier.name, carrier]));
  const parts: RuleParts = { offers, health: options.health ?? everyCarrierIsGood, conversions: options.conversions };
  const homeOf = homeCarriers(rules, portedTo);

  // Compiled once: a rule has one answer for each category and kind of sender.
  const byRoute = rules.routes.map((route) => ({ ...route, rule: compiled(listRule(route), parts) }));
  const homeRuleOf = perObject(({ carrier, why }: HomeCarrier) =>
    compiled(homeRule(carrier, rules.fallback, why), parts),
  );
  const sandbox = planner(
    [{ offer: sandboxOffer(rules.sandboxCarrier, offers), why: 'test key' }],
    [],
    'listed',
    'otp',
    parts,
  );

  return {
    route({ to, category, from, livemode }) {
      if (!livemode) return sandbox;
      for (const { prefix, classes, rule, choose } of byRoute) {
        if (!to.startsWith(prefix) || !(classes.length === 0 || classes.includes(category))) continue;
        return rule(category, from, choose === 'conversion' ? (homeOf(to)?.carrier ?? prefix) : '');
      }
      const home = homeOf(to);
      return home === null ? unknownPrefix : homeRuleOf(home)(category, from, '');
    },
  };
}

/** What all rules are compiled with. */
type RuleParts = Required<Pick<RouterOptions, 'health'>> & {
  readonly offers: ReadonlyMap<string, CarrierOffer>;
  readonly conversions: ConversionView | undefined;
};

const unknownPrefix = { why: 'no carrier is configured for the prefix of this number' };

function listRule({ prefix, carriers, choose }: RoutingRules['routes'][number]): Rule {
  const how = choose === 'listed' ? '' : `, ${choose}`;
  return { carriers, choose, reasonOf: () => `route ${prefix}${how}` };
}

function homeRule(own: string, fallback: readonly string[], why: string): Rule {
  const carriers = [own, ...fallback.filter((name) => name !== own)];
  return { carriers, choose: 'listed', reasonOf: (at) => (at === 0 ? why : `fallback of ${why}`) };
}

/** `operator`: of the number, where its route is drawn. */
type Compiled = (category: Category, from: string, operator: string) => Routed;

function compiled(rule: Rule, parts: RuleParts): Compiled {
  const kinds = ['alphanumeric', 'numeric', 'short_code'] as const;
  const answers = new Map<string, Routed | DrawnRoute>();
  for (const category of categories) {
    for (const kind of kinds) {
      const able: AbleCarrier[] = [];
      const excluded: RouteCandidate[] = [];
      rule.carriers.forEach((carrier, at) => {
        const offer = parts.offers.get(carrier);
        if (offer === undefined) excluded.push({ carrier, why: 'is not configured' });
        else if (!offer.classes.includes(category)) excluded.push({ carrier, why: `takes no ${category} messages` });
        else if (!offer.senders.includes(kind)) excluded.push({ carrier, why: `takes no ${kind} senders` });
        else able.push({ offer, why: rule.reasonOf(at) });
      });
      answers.set(`${category}|${kind}`, answerOf(rule, able, excluded, category, parts));
    }
  }
  return (category, from, operator) => {
    // A sender of unknown kind was admitted by another rule: it is routed like a name.
    const answer = answers.get(`${category}|${senderKindOf(from) ?? 'alphanumeric'}`) as Routed | DrawnRoute;
    return typeof answer === 'function' ? answer(from, operator) : answer;
  };
}

/** What the route draws by is known for a sender and an operator only. */
type DrawnRoute = (sender: string, operator: string) => Route;

function answerOf(
  rule: Rule,
  able: readonly AbleCarrier[],
  excluded: readonly RouteCandidate[],
  category: Category,
  parts: RuleParts,
): Routed | DrawnRoute {
  if (able.length === 0) return { why: sentenceOf(rule, excluded) };
  const { conversions } = parts;
  if (rule.choose !== 'conversion' || conversions === undefined) {
    return planner(able, excluded, rule.choose, category, parts);
  }
  return (sender, operator) => drawnRoute(able, excluded, { conversions, sender, operator }, category, parts);
}

function sentenceOf(rule: Rule, excluded: readonly RouteCandidate[]): string {
  return `no carrier for this message by ${rule.reasonOf(0)}: ${excluded.map(({ carrier, why }) => `${carrier} ${why}`).join(', ')}`;
}

function sandboxOffer(name: string, offers: ReadonlyMap<string, CarrierOffer>): CarrierOffer {
  const nationalTables = offers.get(name)?.nationalTables ?? [];
  const senders = ['alphanumeric', 'numeric', 'short_code'] as const;
  return { name, classes: categories, senders, cost: 0, weight: 1, nationalTables };
}

type AbleCarrier = { readonly offer: CarrierOffer; readonly why: string };

/**
 * The plan of a message: ordered by the rule's choice, avoided carriers last. They stay in it: when all are avoided,
 * the first is still the best, and its reason says why. What does not depend on the message is computed once.
 */
function planner(
  able: readonly AbleCarrier[],
  excluded: readonly RouteCandidate[],
  choose: RouteChoice,
  category: Category,
  { health }: Pick<RuleParts, 'health'>,
): Route {
  const offers = able.map((each) => each.offer);
  const candidateOf = new Map(able.map(({ offer, why }) => [offer.name, { carrier: offer.name, why }]));
  const plainFor = (messageId: string) =>
    planOf(orderOf(offers, choose, messageId).map((offer) => candidateOf.get(offer.name) as RouteCandidate));
  const fixed = isFixed(offers, choose) ? plainFor('') : null;
  return {
    excluded,
    nationalTables: tablesOfAll(offers),
    planFor: (messageId) => avoidedLast(fixed ?? plainFor(messageId), category, health),
  };
}

function avoidedLast(plain: RoutePlan, category: Category, health: CarrierHealthView): RoutePlan {
  const avoided = ({ carrier }: RouteCandidate) => isAvoided(health.stateOf(carrier), category);
  if (!plain.candidates.some(avoided)) return plain;
  const before = plain.candidates.filter((candidate) => !avoided(candidate));
  const behind = plain.candidates.filter(avoided);
  const how = before.length === 0 ? 'no better way' : 'avoided';
  const explained = behind.map(({ carrier, why }) => {
    const state = `${health.stateOf(carrier)} (${health.reasonOf(carrier)})`;
    return { carrier, why: `${why}, ${how}: ${state}` };
  });
  return planOf([...before, ...explained]);
}

type Drawing = { readonly conversions: ConversionView; readonly sender: string; readonly operator: string };

/**
 * Of one request, by what is known of each carrier when its plan is made. Health comes first: avoided carriers take no part
 * in the draw.
 */
function drawnRoute(
  able: readonly AbleCarrier[],
  excluded: readonly RouteCandidate[],
  { conversions, sender, operator }: Drawing,
  category: Category,
  { health }: RuleParts,
): Route {
  let made: { readonly messageId: string; readonly plan: RoutePlan } | null = null;
  return {
    excluded,
    nationalTables: tablesOfAll(able.map(({ offer }) => offer)),
    scoredAs: operator,
    planFor(messageId) {
      if (made?.messageId === messageId) return made.plan;
      const isUsable = ({ offer }: AbleCarrier) => !isAvoided(health.stateOf(offer.name), category);
      const drawn = drawByConversion(
        able.filter(isUsable).map(({ offer: { name } }) => {
          return { name, score: conversions.of({ carrier: name, operator, sender }) };
        }),
        (name) => seededRandom(hashOf(messageId, name)),
      );
      const whyOf = new Map(able.map(({ offer, why }) => [offer.name, why]));
      const candidates = drawn.map((each) => ({
        carrier: each.name,
        why: `${whyOf.get(each.name)}: ${wordsOf(each)}`,
      }));
      const others = able.filter((each) => !isUsable(each)).map(({ offer, why }) => ({ carrier: offer.name, why }));
      const plan = avoidedLast(planOf([...candidates, ...others]), category, health);
      made = { messageId, plan };
      return plan;
    },
  };
}

/** `drew 0.71, 68 of 96 codes entered` */
function wordsOf({ how, drawn, score }: DrawnCarrier): string {
  const entered = `${Math.round(score.verified)} of ${Math.round(codesOf(score))} codes entered`;
  switch (how) {
    case 'drew':
      return `drew ${drawn.toFixed(2)}, ${entered}`;
    case 'floor':
      return `floor of ${conversionFigures.floorShare * 100} %, ${entered}`;
    case 'demoted':
      return `demoted, ${entered}`;
  }
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

/** All of `offers`, the first to be tried first. */
function orderOf(offers: readonly CarrierOffer[], choose: RouteChoice, messageId: string): CarrierOffer[] {
  switch (choose) {
    case 'listed':
    case 'conversion':
      return [...offers];
    case 'weighted':
      return byWeight(offers, messageId);
    case 'cheapest':
      // The sort is stable: equal costs keep the order by weight.
      return byWeight(offers, messageId).sort((one, other) => one.cost - other.cost);
  }
}

/** Whether the order is the same for every message. */
function isFixed(offers: readonly CarrierOffer[], choose: RouteChoice): boolean {
  if (choose === 'listed' || choose === 'conversion' || offers.length < 2) return true;
  return choose === 'cheapest' && new Set(offers.map((each) => each.cost)).size === offers.length;
}

/**
 * Each carrier draws a time until its first arrival, exponentially distributed with its weight as the rate: the
 * shortest wins, in proportion to its weight. Weight 0 comes last.
 */
function byWeight(offers: readonly CarrierOffer[], messageId: string): CarrierOffer[] {
  const drawn = offers.map((offer) => ({
    offer,
    arrival: offer.weight > 0 ? -Math.log(unitOf(messageId, offer.name)) / offer.weight : Number.POSITIVE_INFINITY,
  }));
  return drawn
    .sort((one, other) => (one.arrival < other.arrival ? -1 : one.arrival > other.arrival ? 1 : 0))
    .map((each) => each.offer);
}

/** Uniform in (0, 1]. */
function unitOf(messageId: string, carrier: string): number {
  return (hashOf(messageId, carrier) + 1) / 4_294_967_296;
}

/** FNV-1a over both texts, mixed by murmur3's finalizer: 32 bits. */
function hashOf(messageId: string, carrier: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < carrier.length; at += 1) hash = Math.imul(hash ^ carrier.charCodeAt(at), 0x01000193);
  for (let at = 0; at < messageId.length; at += 1) hash = Math.imul(hash ^ messageId.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
