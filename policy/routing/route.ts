// By which carrier a message goes. Test keys always go to the sandbox; for live keys the first explicit route that
// matches number and category decides, else the longest national prefix. Pure and static: a carrier's health and
// price join in later as further reasons. It never falls back to a carrier the configuration did not name.
import type { Category } from '../../model/message.ts';
import type { RoutingRules } from '../contract.ts';
import type { NumberPlan } from '../country/number-plan.ts';

export type Routed =
  | { readonly carrier: string; readonly reason: string }
  | { readonly carrier: null; readonly why: string };

export type Router = { route(to: string, category: Category, livemode: boolean): Routed };

export function router(rules: RoutingRules, plan: NumberPlan): Router {
  const classes = new Map(rules.carriers.map((carrier) => [carrier.name, new Set(carrier.classes)]));
  const takes = (carrier: string, category: Category) => classes.get(carrier)?.has(category) === true;
  const { prefixes } = rules.country;
  const prefixLengths = [...new Set(Object.keys(prefixes).map((prefix) => prefix.length))].sort((a, b) => b - a);
  // The texts are made here once and not for every message.
  const byRoute = new Map(rules.routes.map((route) => [route, `route ${route.prefix}`]));
  const byPrefix = new Map(Object.keys(prefixes).map((prefix) => [prefix, `prefix ${prefix}`]));
  const sandbox: Routed = { carrier: rules.sandboxCarrier, reason: 'test key' };

  return {
    route(to, category, livemode) {
      if (!livemode) return sandbox;
      for (const route of rules.routes) {
        if (!to.startsWith(route.prefix)) continue;
        if (route.classes.length > 0 && !route.classes.includes(category)) continue;
        const carrier = route.carriers.find((name) => takes(name, category));
        if (carrier !== undefined) return { carrier, reason: byRoute.get(route) ?? '' };
        return { carrier: null, why: `no carrier of the route ${route.prefix} takes ${category} messages` };
      }
      const national = plan.nationalOf(to);
      for (const length of prefixLengths) {
        const prefix = national.slice(0, length);
        if (!Object.hasOwn(prefixes, prefix)) continue;
        const carrier = prefixes[prefix] as string;
        if (takes(carrier, category)) return { carrier, reason: byPrefix.get(prefix) ?? '' };
        return { carrier: null, why: `the carrier of the prefix ${prefix} takes no ${category} messages` };
      }
      return { carrier: null, why: 'no carrier is configured for the prefix of this number' };
    },
  };
}
