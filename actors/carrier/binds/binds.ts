// The binds of one carrier: each is kept open by smpp/bind-keeper, takes submits for the sender and brings
// answers and receipts back. All of a carrier's binds live in one thread, so nothing here needs a lock.
import { type BindConfig, type CarrierConfig, type SimulatedPorts, bindsOf } from '../../../config/configuration.ts';
import type { DesiredState } from '../../../cluster/operator-commands/contract.ts';
import type { Clock } from '../../../platform/clock.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { subscriberDigits } from '../../../smpp/numbers.ts';
import type { QueryFields, ShortMessage, ShortMessagePdu } from '../../../smpp/pdu.ts';
import type { QueryDone } from '../../../smpp/query-window.ts';
import { type BindKeeper, type KeeperState, keepBind } from '../../../smpp/bind-keeper.ts';
import type { ReconnectBudget } from '../../../smpp/reconnect-budget.ts';
import type { Respond } from '../../../smpp/session-contract.ts';
import type { BindWatch } from '../../flight/carrier-flight.ts';
import type { BindLeases } from '../../lease/contract.ts';
import { singleNodeLeases } from '../../lease/single-node-leases.ts';
import { BindGate } from './bind-gate.ts';
import type { Source } from '../../inbound/deliver-sm-handler.ts';
import { BindLog } from './bind-log.ts';
import { BindCommands, type BindDesiredState } from './bind-commands.ts';
import { QueryUnknown } from '../receipts/query-unknown.ts';
import type { SubmitAnswer, SubmitToken } from '../in-flight/submit-token.ts';
import type { SubmitPort } from '../submit/submit-ports.ts';
import { submitPdu } from '../submit/submit-pdu.ts';

export type BindHandlers = {
  readonly onAnswer: (token: SubmitToken, answer: SubmitAnswer) => void;
  readonly onNoAnswer: (token: SubmitToken, why: string) => void;
  /** An answer after its response timer: the message is `unknown`, but now its carrier id, or its refusal, is known. */
  readonly onLateAnswer: (token: SubmitToken, answer: SubmitAnswer) => void;
  /** `source`: the session it came over; undefined for what a query found out. */
  readonly onDeliver: (pdu: ShortMessagePdu, respond: Respond, source?: Source) => void;
  /** More can be submitted than a moment ago. */
  readonly onRoom: () => void;
  /** Whoever records what the binds do. */
  readonly flight?: BindWatch;
};

export type BindStatus = {
  readonly name: string;
  readonly type: BindConfig['type'];
  readonly state: KeeperState;
  readonly reason: string;
  readonly desiredState: DesiredState;
  readonly windowUsed: number;
  readonly window: number;
  /** Null when it does not wait for one. */
  readonly nextTryInMs: number | null;
};

type Bind = BindDesiredState<SubmitToken> & {
  readonly name: string;
  readonly window: number;
  keeper: BindKeeper<SubmitToken>;
  gate: BindGate<SubmitToken>;
  reason: string;
};

type Leases = Pick<BindLeases, 'shared' | 'mayWrite'>;

/** No order speaks against it, and it is ours to submit over. */
const mayCarry = ({ desiredState, gate }: Bind) => desiredState === 'running' && gate.mayCarry;

export class CarrierBinds {
  readonly #keepers: Bind[] = [];
  /** What operators ordered of them. */
  readonly commands: BindCommands<SubmitToken>;
  readonly ports: readonly SubmitPort[];
  readonly windowPdus: number;
  readonly #queries: QueryUnknown | undefined;

  constructor(
    carrier: CarrierConfig,
    simulated: SimulatedPorts,
    budget: ReconnectBudget,
    clock: Clock,
    on: BindHandlers,
    leases: Leases = singleNodeLeases,
  ) {
    if (carrier.wire.querySm) {
      this.#queries = new QueryUnknown({
        receiptId: carrier.receiptId,
        clock,
        query: (fields, done) => this.#query(fields, done),
        onReceipt: on.onDeliver,
      });
    }
    for (const bind of bindsOf(carrier, simulated)) this.#open(carrier, bind, budget, clock, on, leases);
    const submitting = this.#keepers.filter((each) => each.type !== 'receiver');
    this.ports = submitting.map((bind) => ({
      get window() {
        return mayCarry(bind) && bind.keeper.state === 'bound' ? bind.window : 0;
      },
      get windowFree() {
        return mayCarry(bind) ? bind.keeper.windowFree : 0;
      },
      submit: (pdu: ShortMessage, token: SubmitToken) => mayCarry(bind) && bind.keeper.submit(pdu, token),
    }));
    this.commands = new BindCommands(this.#keepers, carrier.responseTimerMs);
    const windows = bindsOf(carrier, simulated).filter((bind) => bind.type !== 'receiver');
    this.windowPdus = windows.reduce((sum, bind) => sum + bind.window, 0);
  }

  get status(): readonly BindStatus[] {
    return this.#keepers.map(({ name, type, keeper, reason, desiredState, window }) => ({
      name,
      type,
      state: keeper.state,
      reason,
      desiredState,
      windowUsed: keeper.windowUsed,
      window,
      nextTryInMs: keeper.nextTryInMs,
    }));
  }

  /** In the order of bindsOf: who may open which. */
  get gates(): readonly BindGate<SubmitToken>[] {
    return this.#keepers.map(({ gate }) => gate);
  }

  /** Those that submit, in the order of bindsOf. */
  get submitters(): readonly Pick<BindStatus, 'desiredState'>[] {
    return this.#keepers.filter(({ type }) => type !== 'receiver');
  }

  get boundCount(): number {
    return this.#keepers.filter(({ keeper }) => keeper.state === 'bound').length;
  }

  /** Bound ones that can submit, and may. */
  get boundSubmitters(): number {
    return this.#keepers.filter(
      ({ keeper, type, desiredState }) => type !== 'receiver' && desiredState === 'running' && keeper.state === 'bound',
    ).length;
  }

  get windowUsed(): number {
    return this.#keepers.reduce((sum, { keeper }) => sum + keeper.windowUsed, 0);
  }

  /** Unbinds everywhere, giving outstanding submits `drainMs` to be answered. */
  async close(why: string, drainMs: number): Promise<void> {
    this.#queries?.close();
    await Promise.all(this.#keepers.map(({ keeper }) => keeper.close(why, drainMs)));
  }

  #query(fields: QueryFields, done: QueryDone): boolean {
    return this.#keepers.some(({ type, keeper }) => type !== 'receiver' && keeper.query(fields, done));
  }

  #onLateAnswer(carrier: CarrierConfig, token: SubmitToken, answer: SubmitAnswer, clock: Clock): void {
    const { message, pdus } = token.inFlight;
    const carried = pdus[token.segment - 1];
    if (this.#queries === undefined || answer.status !== 0 || carried === undefined) return;
    this.#queries.watch(
      answer.carrierMessageId,
      submitPdu(message, carried, carrier, clock.nowMs()),
      message.recipient,
    );
  }

  #open(
    carrier: CarrierConfig,
    bind: BindConfig & { name: string },
    budget: ReconnectBudget,
    clock: Clock,
    on: BindHandlers,
    leases: Leases,
  ): void {
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
      tap: on.flight?.tap(bind.name),
      ...(leases.shared ? { resting: true, mayWrite: () => entry.gate.leased && leases.mayWrite() } : {}),
    };
    const entry: Bind = {
      name: bind.name,
      type: bind.type,
      window: bind.window,
      desiredState: 'running',
      keeper: undefined as unknown as BindKeeper<SubmitToken>,
      gate: undefined as unknown as BindGate<SubmitToken>,
      reason: '',
    };
    const labels = { carrier: carrier.name };
    if (bind.tls && !bind.tls.verify) {
      log.warn({ bind: bind.name }, 'tls.verify is off: whoever is in the way can read and change everything');
    }
    const { destination } = carrier.wire;
    // The rest of the system knows a subscriber by one name only, whatever the carrier calls it.
    let source = { isOpen: true, bind: bind.name };
    const bindLog = new BindLog(bind.name);
    const onDeliver: BindHandlers['onDeliver'] =
      destination.format !== 'national'
        ? (pdu, respond) => on.onDeliver(pdu, respond, source)
        : (pdu, respond) =>
            on.onDeliver({ ...pdu, source: subscriberDigits(pdu.source, destination) }, respond, source);
    entry.keeper = keepBind<SubmitToken>(options, {
      onBound: () => {
        source = { isOpen: true, bind: bind.name };
        entry.reason = '';
        bindLog.bound();
        on.flight?.bound(bind.name);
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
      onLateResponse: (token, response) => {
        on.onLateAnswer(token, response);
        this.#onLateAnswer(carrier, token, response, clock);
      },
      onDeliver,
      onWindowOpen: on.onRoom,
      onClosed: (cause, outstanding) => {
        source.isOpen = false;
        entry.reason = `${cause.kind}: ${cause.why}`;
        bindLog.closed(cause, outstanding.length);
        on.flight?.unbound(bind.name, entry.reason, cause.kind === 'asked');
        for (const token of outstanding) on.onNoAnswer(token, `session_${cause.kind}`);
      },
      onRetry: () => metrics.reconnects.inc(labels),
      onStopped: (reason) => {
        entry.reason = reason;
        bindLog.stopped(reason);
      },
    });
    entry.gate = new BindGate(entry.keeper, !leases.shared);
    this.#keepers.push(entry);
  }
}
