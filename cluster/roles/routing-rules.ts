// What the gates and the router read of the configuration: the one place where heliograph.yaml's words become
// policy's. At the start of the ingress, and again when the file changes.
import type { RoutingRules } from '../../policy/contract.ts';
import { type Configuration, sandboxCarrierName } from '../../config/configuration.ts';

export function routingRules({ country, carriers, routes, routing, content }: Configuration): RoutingRules {
  return {
    country,
    carriers: carriers.map(({ name, classes, senders, cost, weight, wire }) => {
      return { name, classes, senders, cost, weight, nationalTables: wire.text.nationalTables };
    }),
    routes,
    fallback: routing.fallback,
    content,
    sandboxCarrier: sandboxCarrierName,
  };
}
