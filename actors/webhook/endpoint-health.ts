// How an endpoint fails, as its account sees it. The management API reads it from the bucket `webhooks`, where the delivery
// process keeps it: also while none runs, and for an account without another endpoint to be warned.
import type { Bus } from '../../cluster/bus/connect.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import type { WebhookEndpointId } from '../../model/ids.ts';
import { type WebhookEndpoint, enabledAtOf } from '../../model/webhook-endpoint.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { limits } from '../../platform/limits.ts';
import type { EndpointFailing } from './contract.ts';
import { EndpointStates } from './delivery/endpoint-states.ts';
import type { Failing } from './delivery/schedule.ts';

type Endpoint = Pick<WebhookEndpoint, 'id' | 'status' | 'enabledAtMs'>;

/** Of each endpoint. Rejects when the bus does not answer in time. */
export async function readEndpointsFailing(
  bus: Bus,
  endpoints: readonly Endpoint[],
  clock: Clock = systemClock,
): Promise<ReadonlyMap<WebhookEndpointId, EndpointFailing>> {
  const read = async () => {
    const states = new EndpointStates(await openBucket(bus, 'webhooks'));
    return Promise.all(
      endpoints.map(async (of) => [of.id, endpointFailing(of, await states.failingOf(of.id))] as const),
    );
  };
  return new Map(await withDeadline('how endpoints fail', limits.delivery.answerMs, read(), clock));
}

/** What failed before the endpoint was enabled again does not count, also when no process has noticed that yet. */
export function endpointFailing(of: Endpoint | undefined, failing: Failing | null): EndpointFailing {
  if (of === undefined || failing === null || failing.enabledAtMs !== enabledAtOf(of))
    return { failingSinceMs: null, nextTryAtMs: null, tries: 0, error: null, warnedAtMs: [] };
  const { sinceMs, nextTryAtMs, tries, error, warnings } = failing;
  return {
    ...{ failingSinceMs: sinceMs, tries, error },
    nextTryAtMs: of.status === 'enabled' ? nextTryAtMs : null,
    warnedAtMs: limits.delivery.warnAfterMs.slice(0, warnings).map((afterMs) => sinceMs + afterMs),
  };
}
