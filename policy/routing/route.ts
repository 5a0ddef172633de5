// Finds the carriers for a message, in order. Test keys always use the sandbox; for live keys the first explicit
// route that matches number and category decides, else the carrier of the number (ported, or by the longest national
// prefix) followed by the configured fallback. Pure: health is a parameter, read when a plan is made. Only configured
// carriers are used.
import { type Category, categories } from '../../model/message.ts';
import { senderKindOf } from '../../model/sender.ts';
import type { CarrierHealthView, CarrierOffer, Route, RouteChoice, RoutingRules, RouteCandidate } from '../contract.ts';
import type { NumberPlan } from '../country/number-plan.ts';
import { everyCarrierIsGood } from './avoid.ts';
import { planner } from './plan.ts';

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
  /** The carrier a number was ported to, or null: from a list the operator imported. */
  readonly portedTo?: (to: string) => string | null;
};

/** The carriers one rule names, before anybody asked what they can take. */
type Rule = { readonly carriers: readonly string[]; readonly choose: RouteChoice; reasonOf(at: number): string };

export function router(rules: RoutingRules, numbers: NumberPlan, options: RouterOptions = {}): Router {
  const { health = everyCarrierIsGood, portedTo = () => null } = options;
  const offers = new Map(rules.carriers.map((carrier) => [carrier.name, carrier]));
  const { prefixes } = rules.country;
  const prefixLengths = [...new Set(Object.keys(prefixes).map((prefix) => prefix.length))].sort((a, b) => b - a);

  // Compiled once and not for every message: a rule has one answer for each category and kind of sender.
  const byRoute = rules.routes.map((route) => ({ ...route, rule: compiled(listRule(route), offers, health) }));
  const ownRule = (carrier: string, why: string) => compiled(homeRule(carrier, rules.fallback, why), offers, health);
  const byPrefix = new Map(Object.entries(prefixes).map(([prefix, own]) => [prefix, ownRule(own, `prefix ${prefix}`)]));
  const byPorting = new Map(rules.carriers.map(({ name }) => [name, ownRule(name, `ported to ${name}`)]));
  const sandbox = planner(
    [{ offer: sandboxOffer(rules.sandboxCarrier, offers), why: 'test key' }],
    [],
    'listed',
    'otp',
    health,
  );

  return {
    route({ to, category, from, livemode }) {
      if (!livemode) return sandbox;
      for (const { prefix, classes, rule } of byRoute) {
        if (to.startsWith(prefix) && (classes.length === 0 || classes.includes(category))) return rule(category, from);
      }
      const ported = byPorting.get(portedTo(to) ?? '');
      if (ported !== undefined) return ported(category, from);
      const national = numbers.nationalOf(to);
      for (const length of prefixLengths) {
        const rule = byPrefix.get(national.slice(0, length));
        if (rule !== undefined) return rule(category, from);
      }
      return unknownPrefix;
    },
  };
}

const unknownPrefix = { why: 'no carrier is configured for the prefix of this number' };

function listRule({ prefix, carriers, choose }: RoutingRules['routes'][number]): Rule {
  const how = choose === 'listed' ? '' : `, ${choose}`;
  return { carriers, choose, reasonOf: () => `route ${prefix}${how}` };
}

function homeRule(own: string, fallback: readonly string[], why: string): Rule {
  const carriers = [own, ...fallback.filter((name) => name !== own)];
  return { carriers, choose: 'listed', reasonOf: (at) => (at === 0 ? why : `fallback of ${why}`) };
}

type Compiled = (category: Category, from: string) => Routed;

function compiled(rule: Rule, offers: ReadonlyMap<string, CarrierOffer>, health: CarrierHealthView): Compiled {
  const kinds = ['alphanumeric', 'numeric', 'short_code'] as const;
  const answers = new Map<string, Routed>();
  for (const category of categories) {
    for (const kind of kinds) {
      const able: { offer: CarrierOffer; why: string }[] = [];
      const excluded: RouteCandidate[] = [];
      rule.carriers.forEach((carrier, at) => {
        const offer = offers.get(carrier);
        if (offer === undefined) excluded.push({ carrier, why: 'is not configured' });
        else if (!offer.classes.includes(category)) excluded.push({ carrier, why: `takes no ${category} messages` });
        else if (!offer.senders.includes(kind)) excluded.push({ carrier, why: `takes no ${kind} senders` });
        else able.push({ offer, why: rule.reasonOf(at) });
      });
      answers.set(
        `${category}|${kind}`,
        able.length > 0 ? planner(able, excluded, rule.choose, category, health) : { why: sentenceOf(rule, excluded) },
      );
    }
  }
  // A sender whose kind that is not known was let in by another rule: it goes like a name.
  return (category, from) => answers.get(`${category}|${senderKindOf(from) ?? 'alphanumeric'}`) as Routed;
}

function sentenceOf(rule: Rule, excluded: readonly RouteCandidate[]): string {
  return `no carrier for this message by ${rule.reasonOf(0)}: ${excluded.map(({ carrier, why }) => `${carrier} ${why}`).join(', ')}`;
}

function sandboxOffer(name: string, offers: ReadonlyMap<string, CarrierOffer>): CarrierOffer {
  const nationalTables = offers.get(name)?.nationalTables ?? [];
  const senders = ['alphanumeric', 'numeric', 'short_code'] as const;
  return { name, classes: categories, senders, cost: 0, weight: 1, nationalTables };
}
