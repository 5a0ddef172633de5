// Asks the delivery process over NATS (actors/webhook/contract.ts). When no answer comes it says what is silent: NATS, or
// that process alone, because an operator looks in another place for each.
import { errors } from '@nats-io/transport-node';
import type { Busy } from '../../actors/webhook/contract.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { type Problem, problem } from '../problem.ts';

export async function askDelivery<Answer extends object>(
  { connection }: Pick<Bus, 'connection'>,
  { subject, request, withinMs }: { readonly subject: string; readonly request: object; readonly withinMs: number },
): Promise<Answer | { readonly problem: Problem }> {
  let isNatsSilent = true;
  // The server answers a ping whether the process answers or not.
  void withDeadline('a ping of NATS', withinMs, connection.rtt()).then(
    () => (isNatsSilent = false),
    (error: unknown) => ignoring(error, 'said below, if the answer does not come'),
  );
  try {
    const reply = await connection.request(subject, JSON.stringify(request), { timeout: withinMs });
    const answer = reply.json<Answer | Busy>();
    return 'busy' in answer ? { problem: busy[answer.busy] } : answer;
  } catch (error) {
    const isNobodyThere = error instanceof errors.RequestError && error.isNoResponders();
    const silent = isNobodyThere ? nobodyDelivers : isNatsSilent ? natsSilent : deliverySilent;
    log.warn({ subject, error: messageOf(error) }, silent.detail);
    return { problem: silent };
  }
}

/** `what` does not answer. */
export const unavailable = (what: string): Problem => problem(503, 'webhooks_unavailable', what, 2);
export const natsSilent = unavailable('NATS did not answer in time');
const deliverySilent = unavailable('the delivery process did not answer in time');
const nobodyDelivers = unavailable('no process delivers webhooks at the moment: it may be starting');

const busy: { readonly [Why in Busy['busy']]: Problem } = {
  account_full: problem(429, 'account_busy', 'too many tests or replays of webhooks of this account at once', 2),
  full: problem(503, 'webhooks_busy', 'too many tests or replays of webhooks of all accounts at once', 2),
};
