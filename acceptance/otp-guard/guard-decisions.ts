// Publishes what the guard answered to requests: each refusal, and what rules in shadow mode would have refused, with
// their figures. A request does not wait for it. Of an account and thread only so many a second are published, so that
// a flood of refusals fills nothing; the rest is counted (heliograph_otp_guard_refusals_total). What a thread has not
// published when it is killed is lost: blocks are not, because they are published from their bucket.
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { factSubjects } from '../../cluster/bus/subjects.ts';
import type { GuardFact } from '../../model/fact.ts';
import { eventIdOf } from '../../model/ids.ts';
import { encodeFact } from '../../model/records/fact-record.ts';
import type { Clock } from '../../platform/clock.ts';
import { AccountRates, paceOf } from '../../platform/gcra.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { GuardFinding, GuardNumber } from '../../policy/otp-guard/contract.ts';
import { prefixOf } from '../../policy/otp-guard/history.ts';

const { refusalsPerSecond, refusalsBurst } = limits.facts;
const pace = paceOf(refusalsPerSecond, 1_000_000, refusalsBurst);
const runBytes = 9;

export class GuardDecisions {
  readonly #publisher: Publisher;
  readonly #clock: Clock;
  readonly #rates = new AccountRates(pace, limits.audit.accountsMax, pace);
  /** Distinguishes the decisions of this thread. */
  readonly #run = secretBytes(runBytes).toString('base64url');
  #count = 0;

  /** `publisher`: of other records, too; when it has no capacity nothing is published. */
  constructor(publisher: Publisher, clock: Clock) {
    this.#publisher = publisher;
    this.#clock = clock;
  }

  record({ accountId, to }: GuardNumber, finding: GuardFinding): void {
    if (this.#rates.take(accountId, this.#clock.monotonicMs() * 1_000) !== null) return lost();
    const { rule, action, statistic, threshold, shadow } = finding;
    this.#count += 1;
    const detail = `${this.#run}.${this.#count}`;
    const fact: GuardFact = {
      kind: 'guard',
      what: 'refusal',
      eventId: eventIdOf({ messageId: accountId, kind: 'otp_guard.refusal', detail }),
      atMs: this.#clock.nowMs(),
      accountId,
      livemode: true,
      rule,
      action,
      mode: shadow ? 'shadow' : 'on',
      scope: shownScope(finding),
      prefix: prefixOf(to, 6),
      statistic,
      threshold,
      times: 0,
      untilMs: 0,
      released: '',
    };
    this.#publisher.publish(factSubjects.guard, encodeFact(fact), fact.eventId, ({ ok }) => {
      if (!ok) lost();
    });
  }
}

/** Prefixes of numbers as they are; of a person's address or device only that it was one. */
function shownScope({ rule, scope }: GuardFinding): string {
  return rule === 'clients' ? (scope.split(' ')[0] ?? '') : scope;
}

function lost(): void {
  metrics.factsLost.inc({ kind: 'guard' });
}
