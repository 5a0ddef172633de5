// What the log says of one bind. Whatever a warning began is ended at the same level, so that an operator who reads
// warnings alone sees both; a start that goes well says nothing there. It decides nothing about the bind.
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { commandStatus, nameOfStatus } from '../../../smpp/command-status.ts';
import type { CloseCause } from '../../../smpp/session-contract.ts';

export class BindLog {
  readonly #bind: string;
  #isBound = false;
  /** It has came before. */
  #wasBound = false;
  /** Since then a warning waits for its end. */
  #warned = false;
  /** Refusals in a row because the carrier has enough sessions of ours. */
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
    // The first ones may be a cut session of ours that the carrier has not forgotten yet: that passes.
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
      'the bind stays down until somebody changes something',
    );
  }
}
