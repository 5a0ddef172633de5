// Logs one bind's life. The end of a fault is logged at the same level as its beginning, so that warnings alone show
// both; a normal start logs no warning.
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { commandStatus, nameOfStatus } from '../../../model/command-status.ts';
import type { CloseCause } from '../../../smpp/session-contract.ts';

export class BindLog {
  readonly #bind: string;
  #isBound = false;
  #wasBound = false;
  /** A warning was logged and its end was not. */
  #warned = false;
  /** Consecutive refusals because the carrier has enough of our sessions. */
  #tooMany = 0;

  constructor(bind: string) {
    this.#bind = bind;
  }

  bound(): void {
    const facts = { bind: this.#bind };
    const what = this.#wasBound ? 'bound again' : 'bound';
    if (this.#warned) log.warn(facts, what);
    else log.info(facts, what);
    this.#isBound = true;
    this.#wasBound = true;
    this.#warned = false;
    this.#tooMany = 0;
  }

  closed(cause: CloseCause, outstanding: number): void {
    const wasBound = this.#isBound;
    this.#isBound = false;
    const facts = { bind: this.#bind, cause: `${cause.kind}: ${cause.why}`, outstanding };
    if (cause.kind === 'asked') return log.info(facts, 'unbound');
    this.#warned = true;
    log.warn(facts, wasBound ? 'bind lost' : 'not bound');
    const isTooMany = cause.kind === 'bind_refused' && cause.status === commandStatus.ESME_RALYBND;
    this.#tooMany = isTooMany ? this.#tooMany + 1 : 0;
    // The first ones may come from a broken session that the carrier has not dropped yet.
    if (this.#tooMany === limits.smpp.tooManyBindsAlarmAt) {
      log.error(
        {
          alarm: 'bind_over_allowance',
          bind: this.#bind,
          refusals: this.#tooMany,
          status: nameOfStatus(commandStatus.ESME_RALYBND),
        },
        'the carrier allows no further session; it is tried again every minute',
      );
    }
  }

  stopped(reason: string): void {
    log.error(
      { alarm: 'bind_stopped', bind: this.#bind, reason },
      'the bind stays down until an operator changes something',
    );
  }
}
