// What is left of the rates, in the fields of draft-ietf-httpapi-ratelimit-headers and in the three older ones that most
// clients read. Without a limit an answer carries neither.
import type { RateAnswer } from '../../acceptance/principal-limits.ts';
import type { Headers } from './exchange.ts';

export function rateHeaders({ tightest }: Pick<RateAnswer, 'tightest'>): Headers {
  if (tightest === null) return [];
  const { policy, rate, verdict } = tightest;
  const resetS = String(Math.ceil(verdict.resetUs / 1_000_000));
  const remaining = String(verdict.remaining);
  // The draft's `w`: the time in which a whole burst is regained.
  const windowS = Math.max(1, Math.ceil(rate.burst / rate.perSecond));
  return [
    ['ratelimit-policy', `"${policy}";q=${rate.burst};w=${windowS}`],
    ['ratelimit', `"${policy}";r=${remaining};t=${resetS}`],
    ['ratelimit-limit', String(rate.burst)],
    ['ratelimit-remaining', remaining],
    ['ratelimit-reset', resetS],
  ];
}
