// The binds of one carrier. smpp/bind-keeper keeps each open; they write submits and deliver answers and receipts. All
// binds of a carrier are kept in one thread, so nothing here needs a lock.
import { type BindConfig, type CarrierConfig, type SimulatedPorts, bindsOf } from '../../../config/configuration.ts';
import type { Clock } from '../../../platform/clock.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { subscriberDigits } from '../../../smpp/numbers.ts';
import type { CancelFields, QueryFields, ShortMessagePdu } from '../../../smpp/pdu.ts';
import type { CancelDone, QueryDone } from '../../../smpp/request-window.ts';
import { BindKeeper } from '../../../smpp/bind-keeper.ts';
import type { ReconnectBudget } from '../../../smpp/reconnect-budget.ts';
import type { CloseCause, Respond, SubmitResponse } from '../../../smpp/session-contract.ts';
import type { BindWatch } from '../../flight/carrier-flight.ts';
import type { BindLeases } from '../../lease/contract.ts';
import { singleNodeLeases } from '../../lease/single-node-leases.ts';
import { BindGate } from './bind-gate.ts';
import type { Source } from '../../inbound/deliver-sm-handler.ts';
import { BindCommands, type BindDesiredState } from './bind-commands.ts';
import type { SubmitToken } from '../in-flight/submit-token.ts';
import type { SubmitPort } from '../submit/submit-ports.ts';
import { limits } from '../../../platform/limits.ts';
import { commandStatus, nameOfStatus } from '../../../model/command-status.ts';

export type BindHandlers = {
  onAnswer(token: SubmitToken, answer: SubmitResponse): void;
  onNoAnswer(token: SubmitToken, why: string): void;
  /** An answer after its response timer: the message is `unknown`, but its carrier id, or its refusal, is now known. */
  onLateAnswer(token: SubmitToken, answer: SubmitResponse): void;
  /** `source`: the session it arrived over. */
  onDeliver(pdu: ShortMessagePdu, respond: Respond, source: Source): void;
  /** Capacity to submit has grown. */
  onRoom(): void;
};

export type CarrierBindsParts = {
  readonly carrier: CarrierConfig;
  readonly simulated: SimulatedPorts;
  readonly budget: ReconnectBudget;
  readonly clock: Clock;
  /** Absent on a single node. */
  readonly leases?: Pick<BindLeases, 'shared' | 'mayWrite'>;
  /** Records what the binds do, for the flight recorder. */
  readonly flight?: BindWatch;
};

type Bind = BindDesiredState<SubmitToken> & {
  readonly name: string;
  readonly window: number;
  readonly keeper: BindKeeper<SubmitToken>;
  readonly gate: BindGate<SubmitToken>;
  reason: string;
};

export type BindStatus = Readonly<Pick<Bind, 'name' | 'type' | 'reason' | 'desiredState' | 'window'>> &
  Pick<BindKeeper<SubmitToken>, 'state' | 'nextTryInMs'> & { readonly windowUsed: number };

/** No operator command prevents it, and this node may submit over it. */
const mayCarry = ({ desiredState, gate }: Bind) => desiredState === 'running' && gate.mayCarry;

export class CarrierBinds {
  readonly #parts: CarrierBindsParts;
  readonly #binds: Bind[] = [];
  readonly #ports: SubmitPort[] = [];
  readonly commands: BindCommands<SubmitToken>;
  /** Those that submit; none before `open`. */
  readonly ports: readonly SubmitPort[] = this.#ports;
  /** The sum of their windows, in PDUs. */
  readonly windowPdus: number;

  constructor(parts: CarrierBindsParts) {
    const { carrier, simulated } = parts;
    this.#parts = parts;
    this.commands = new BindCommands(this.#binds, carrier.responseTimerMs);
    const submitting = bindsOf(carrier, simulated).filter((bind) => bind.type !== 'receiver');
    this.windowPdus = submitting.reduce((sum, bind) => sum + bind.window, 0);
  }

  /** Begins to connect; `on` gets what arrives. */
  open(on: BindHandlers): void {
    const { carrier, simulated } = this.#parts;
    for (const bind of bindsOf(carrier, simulated)) this.#open(bind, on);
    for (const bind of this.#binds) if (bind.type !== 'receiver') this.#ports.push(portOf(bind));
  }

  get status(): readonly BindStatus[] {
    return this.#binds.map(({ name, type, keeper, reason, desiredState, window }) => ({
      name,
      type,
      state: keeper.state,
      reason,
      desiredState,
      windowUsed: keeper.session?.windowUsed ?? 0,
      window,
      nextTryInMs: keeper.nextTryInMs,
    }));
  }

  /** In the order of bindsOf. */
  get gates(): readonly BindGate<SubmitToken>[] {
    return this.#binds.map(({ gate }) => gate);
  }

  /** Those that submit, in the order of bindsOf. */
  get submitters(): readonly Pick<BindStatus, 'desiredState'>[] {
    return this.#binds.filter(({ type }) => type !== 'receiver');
  }

  get boundCount(): number {
    return this.#binds.filter(({ keeper }) => keeper.state === 'bound').length;
  }

  /** Bound binds that can and may submit. */
  get boundSubmitters(): number {
    return this.#binds.filter(
      ({ keeper, type, desiredState }) => type !== 'receiver' && desiredState === 'running' && keeper.state === 'bound',
    ).length;
  }

  /** A bind is open over which receipts come. */
  get isReceiving(): boolean {
    return this.#binds.some(({ type, keeper }) => type !== 'transmitter' && keeper.state === 'bound');
  }

  get windowUsed(): number {
    return this.#binds.reduce((sum, { keeper }) => sum + (keeper.session?.windowUsed ?? 0), 0);
  }

  /** Unbinds all, allowing outstanding submits `drainMs` to be answered. */
  async close(why: string, drainMs: number): Promise<void> {
    await Promise.all(this.#binds.map(({ keeper }) => keeper.close(why, drainMs)));
  }

  /** Sends a cancel_sm over any bind that may submit. False when none can now. */
  cancel(fields: CancelFields, done: CancelDone): boolean {
    return this.#binds.some((bind) => mayCarry(bind) && bind.keeper.session?.cancel(fields, done) === true);
  }

  /** Sends a query_sm over any bind that can. False when none can now. */
  query(fields: QueryFields, done: QueryDone): boolean {
    return this.#binds.some(({ keeper }) => keeper.session?.query(fields, done) === true);
  }

  #open(bind: BindConfig & { name: string }, on: BindHandlers): void {
    const { carrier, budget, clock, flight, leases = singleNodeLeases } = this.#parts;
    const options = {
      host: bind.host,
      port: bind.port,
      tls: bind.tls || undefined,
      bind: {
        type: bind.type,
        systemId: bind.systemId,
        password: bind.password,
        systemType: bind.systemType,
        interfaceVersion: bind.interfaceVersion,
        addressTon: bind.addressRange.ton,
        addressNpi: bind.addressRange.npi,
        addressRange: bind.addressRange.range,
      },
      windowPdusMax: bind.window,
      responseTimerMs: carrier.responseTimerMs,
      enquireLinkMs: carrier.enquireLinkMs,
      clock,
      budget,
      tap: flight?.tap(bind.name),
      ...(leases.shared ? { resting: true, mayWrite: () => entry.gate.leased && leases.mayWrite() } : {}),
    };
    const labels = { carrier: carrier.name };
    if (bind.tls && !bind.tls.verify) {
      const danger = 'tls.verify is off: an attacker on the network path can read and change everything';
      log.warn({ bind: bind.name }, danger);
    }
    const { destination } = carrier.wire;
    let source = { isOpen: true, bind: bind.name };
    const bindLog = new BindLog(bind.name);
    const keeper = new BindKeeper<SubmitToken>(options, {
      onBound: () => {
        source = { isOpen: true, bind: bind.name };
        entry.reason = '';
        bindLog.bound();
        flight?.bound(bind.name);
        on.onRoom();
      },
      onSubmitResponse: (token, response) => {
        on.onAnswer(token, response);
        on.onRoom();
      },
      onSubmitTimeout: (token) => {
        on.onNoAnswer(token, 'no_response');
        on.onRoom();
      },
      onLateResponse: (token, response) => on.onLateAnswer(token, response),
      onDeliver: (pdu, respond) => {
        // The rest of the system knows a subscriber by the E.164 number only, whatever the carrier writes.
        if (destination.format !== 'national') on.onDeliver(pdu, respond, source);
        else on.onDeliver({ ...pdu, source: subscriberDigits(pdu.source, destination) }, respond, source);
      },
      onWindowOpen: () => on.onRoom(),
      onClosed: (cause, outstanding) => {
        source.isOpen = false;
        entry.reason = `${cause.kind}: ${cause.why}`;
        bindLog.closed(cause, outstanding.length);
        flight?.unbound(bind.name, entry.reason, cause.kind === 'asked');
        for (const token of outstanding) on.onNoAnswer(token, `session_${cause.kind}`);
      },
      onRetry: () => metrics.reconnects.inc(labels),
      onStopped: (reason) => {
        entry.reason = reason;
        bindLog.stopped(reason);
      },
    });
    const gate = new BindGate(keeper, !leases.shared);
    const { name, type, window } = bind;
    const entry: Bind = { name, type, window, desiredState: 'running', keeper, gate, reason: '' };
    this.#binds.push(entry);
  }
}

function portOf(bind: Bind): SubmitPort {
  return {
    get window() {
      return mayCarry(bind) && bind.keeper.state === 'bound' ? bind.window : 0;
    },
    get windowFree() {
      return mayCarry(bind) ? (bind.keeper.session?.windowFree ?? 0) : 0;
    },
    submit: (pdu, token) => mayCarry(bind) && bind.keeper.session?.submit(pdu, token) === true,
  };
}

/**
 * Logs one bind's life. The end of a fault is logged at the same level as its beginning, so that warnings alone show
 * both.
 */
class BindLog {
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
      const refused = { refusals: this.#tooMany, status: nameOfStatus(commandStatus.ESME_RALYBND) };
      log.error(
        { alarm: 'bind_over_allowance', bind: this.#bind, ...refused },
        'the carrier allows no further session; it is tried again every minute',
      );
    }
  }

  stopped(reason: string): void {
    const facts = { alarm: 'bind_stopped', bind: this.#bind, reason };
    log.error(facts, 'the bind stays down until an operator changes something');
  }
}
