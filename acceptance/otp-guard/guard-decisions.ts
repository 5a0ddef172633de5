// Publishes what the guard answered to requests, with its figures: each refusal, what rules in shadow mode would have
// refused, and what it let through as a probe or because a challenge was passed. A request does not wait for it. Of an
// account and thread only so many a second are published one by one, so that a flood fills nothing; the rest is published
// every ten seconds as one with their number. What a thread has not published when it is killed is lost
// (heliograph_otp_guard_refusals_total has counted it): blocks are not, because they are published from their bucket.
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { factSubjects } from '../../cluster/bus/subjects.ts';
import type { GuardFact } from '../../model/fact.ts';
import { eventIdOf } from '../../model/ids.ts';
import { encodeFact } from '../../model/records/fact-record.ts';
import type { Cancel, Clock } from '../../platform/clock.ts';
import { AccountRates, paceOf } from '../../platform/gcra.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { GuardFinding, GuardNumber } from '../../policy/otp-guard/contract.ts';
import { prefixOf } from '../../policy/otp-guard/history.ts';

const { refusalsPerSecond, refusalsBurst, leftOutMax, leftOutEveryMs, leftOutTimesMax } = limits.facts;
const pace = paceOf(refusalsPerSecond, 1_000_000, refusalsBurst);
const runBytes = 9;

export type AnswerKind = Extract<GuardFact['what'], 'refusal' | 'probe' | 'challenge_passed'>;
/** What a fact says of requests. */
type Decision = Pick<GuardFact, 'accountId' | 'what' | 'rule' | 'action' | 'mode'> &
  Pick<GuardFact, 'scope' | 'prefix' | 'statistic' | 'threshold' | 'times'>;

export class GuardDecisions {
  readonly #publisher: Publisher;
  readonly #clock: Clock;
  readonly #rates = new AccountRates(pace, limits.audit.accountsMax, pace);
  /** Distinguishes the decisions of this thread. */
  readonly #run = secretBytes(runBytes).toString('base64url');
  /** Decisions that were not published, by account and all that they have in common. */
  readonly #leftOut = new Map<string, Decision>();
  readonly #stop: Cancel;
  #count = 0;

  /** `publisher`: of other records, too; when it has no capacity nothing is published. */
  constructor(publisher: Publisher, clock: Clock) {
    this.#publisher = publisher;
    this.#clock = clock;
    this.#stop = clock.every(leftOutEveryMs, () => this.#publishLeftOut());
  }

  record({ accountId, to }: GuardNumber, what: AnswerKind, finding: GuardFinding): void {
    const { rule, action, statistic, threshold, shadow } = finding;
    const about = { accountId, what, rule, action, mode: shadow ? 'shadow' : 'on' } as const;
    if (this.#rates.take(accountId, this.#clock.monotonicMs() * 1_000) === null) {
      const [scope, prefix] = [shownScope(finding), prefixOf(to, 6)];
      return this.#publish({ ...about, scope, prefix, statistic, threshold, times: 1 });
    }
    const key = Object.values(about).join(' ');
    const before = this.#leftOut.get(key);
    if (before === undefined && this.#leftOut.size >= leftOutMax) return lost();
    const greatest = Math.max(statistic, before?.statistic ?? 0);
    const times = (before?.times ?? 0) + 1;
    // They are of several prefixes and clients.
    this.#leftOut.set(key, { ...about, scope: '', prefix: '', statistic: greatest, threshold, times });
  }

  /** Publishes what is left. */
  stop(): void {
    this.#stop();
    this.#publishLeftOut();
  }

  #publishLeftOut(): void {
    for (const decision of this.#leftOut.values()) {
      for (let left = decision.times; left > 0; left -= leftOutTimesMax) {
        this.#publish({ ...decision, times: Math.min(left, leftOutTimesMax) });
      }
    }
    this.#leftOut.clear();
  }

  #publish(decision: Decision): void {
    const { accountId, what, times } = decision;
    this.#count += 1;
    const detail = `${this.#run}.${this.#count}`;
    const fact: GuardFact = {
      ...decision,
      kind: 'guard',
      eventId: eventIdOf({ messageId: accountId, kind: `otp_guard.${what}`, detail }),
      atMs: this.#clock.nowMs(),
      livemode: true,
      untilMs: 0,
      released: '',
    };
    this.#publisher.publish(factSubjects.guard, encodeFact(fact), fact.eventId, ({ ok }) => {
      if (!ok) lost(times);
    });
  }
}

/** Prefixes of numbers as they are; of a person's address or device only that it was one. */
function shownScope({ rule, scope }: GuardFinding): string {
  return rule === 'clients' ? (scope.split(' ')[0] ?? '') : scope;
}

function lost(times = 1): void {
  metrics.factsLost.inc({ kind: 'guard' }, times);
}
