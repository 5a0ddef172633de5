// The part of the configuration that the gates and the router use: the only conversion from heliograph.yaml to policy's
// types. Runs when the ingress starts and when the file changes.
import type { RoutingRules } from '../../policy/contract.ts';
import { type Configuration, sandboxCarrierName } from '../../config/configuration.ts';

/** `httpPort`: of the entry point, where links lead when no domain is set; missing where no link is made. */
export function routingRules(
  { country, carriers, routes, routing, content, links }: Configuration,
  httpPort?: number,
): RoutingRules {
  return {
    country,
    carriers: carriers.map(({ name, classes, senders, cost, weight, wire }) => {
      return { name, classes, senders, cost, weight, nationalTables: wire.text.nationalTables };
    }),
    routes,
    fallback: routing.fallback,
    content,
    ...(httpPort === undefined
      ? {}
      : { links: { baseUrl: links.baseUrl ?? `http://localhost:${httpPort}`, accounts: links.accounts } }),
    sandboxCarrier: sandboxCarrierName,
  };
}
