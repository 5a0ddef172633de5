// `dry_run: "explain"`: shows what would become of a message. It sends and stores nothing, uses no idempotency key and
// records no refusal. It reads do-not-disturb and ported-number registries, so it is rate limited per account and
// logged; registry versions, carrier health and conversion are for operators only.
import type { Principal } from '../../acceptance/principal.ts';
import { newMessageId } from '../../model/ids.ts';
import { type Clock, epochUs, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { log, maskNumber } from '../../platform/log.ts';
import type { ExplainedText } from '../../policy/admission/explain-text.ts';
import type { Explain, GateVerdict } from '../../policy/admission/explain.ts';
import type { SmsRequest, RouteCandidate } from '../../policy/contract.ts';
import { type Problem, problem } from '../problem.ts';
import { missingScope } from './access.ts';
import type { Exchange } from './exchange.ts';
import { AccountRates, paceOf } from '../../platform/gcra.ts';
import { ucs2Shape } from './sms-answer.ts';

const pace = paceOf(limits.access.dryRunsPerSecond, 1_000_000, limits.access.dryRunsBurst);

/** The rate of dry runs of each account on this thread, beside its request rates. */
export class DryRuns {
  readonly #clock: Clock;
  readonly #rates = new AccountRates(pace, limits.audit.accountsMax);

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  refuse(accountId: string): Problem | null {
    const refused = this.#rates.take(accountId, epochUs(this.#clock.monotonicMs()));
    if (refused === null) return null;
    const retryS = Math.ceil(refused.retryUs / 1_000_000);
    if (refused.reason === 'full') return problem(503, 'overloaded', 'too many accounts ask for dry runs', retryS);
    const { dryRunsPerSecond, dryRunsBurst } = limits.access;
    const detail = `more than ${dryRunsPerSecond} dry run a second (${dryRunsBurst} at once) for this account: ask again later`;
    return problem(429, 'rate_limited', detail, retryS);
  }
}

export function explainSms(
  parts: { readonly explain: Explain; readonly clock: Clock; readonly dryRuns: DryRuns },
  exchange: Exchange,
  principal: Principal,
  request: SmsRequest,
): Problem | 'answered' {
  // The scope comes first: a key that may not send learns nothing about numbers, senders or routes.
  const refusal = missingScope(principal, 'sms:send') ?? parts.dryRuns.refuse(principal.account.accountId);
  if (refusal !== null) return refusal;
  const explained = parts.explain(principal, request, newMessageId(parts.clock.nowMs()));
  const { accountId } = principal.account;
  const refused = explained.gates.flatMap(({ verdict, code }) =>
    verdict === 'refused' && code !== null ? [code] : [],
  );
  const to = maskNumber(request.to.slice(0, 20));
  // The only record of a dry run, which reads the registries.
  log.info({ event: 'dry_run', accountId, keyId: principal.id, to, refused }, 'a dry run');
  const isOperators = principal.scopes.includes('carriers:read');
  const shown = {
    object: 'sms_explanation',
    would_send: explained.wouldSend,
    to: request.to,
    from: request.from,
    category: request.category,
    livemode: principal.livemode,
    gates: isOperators ? explained.gates : explained.gates.map(withoutRegistry),
    message: explained.text,
    links: explained.links,
    ...writtenShape(explained.written),
    routes: isOperators ? explained.routes : explained.routes.map(withoutFigures),
    routes_excluded: isOperators ? explained.excluded : explained.excluded.map(withoutFigures),
    earliest_at: explained.earliestAtMs === null ? null : new Date(explained.earliestAtMs).toISOString(),
  };
  exchange.json(200, JSON.stringify(shown));
  return 'answered';
}

/** Registry versions are not shown to clients; why the registry was not asked names none. */
const withoutRegistry = (each: GateVerdict): GateVerdict =>
  each.gate === 'do_not_disturb' && each.verdict !== 'not_asked' ? { ...each, detail: null } : each;

/** Nor are carrier health and conversion: `route 017, conversion: drew …` becomes `route 017, conversion`. */
const withoutFigures = ({ carrier, why }: RouteCandidate): RouteCandidate => ({
  carrier,
  why: why.replace(/(?<=, conversion): .*$|, (?:avoided|no better way): .*$/s, ''),
});

function writtenShape(written: ExplainedText | null): object {
  if (written === null) return { encoding: null, segments: [], costly_characters: [], national_tables: null };
  return {
    encoding: written.encoding,
    segments: written.segments,
    costly_characters: written.costlyCharacters,
    ...(written.ucs2Because === null ? {} : { ucs2_because: ucs2Shape(written.ucs2Because) }),
    national_tables: written.nationalTables,
  };
}
