// Applies operator commands to a carrier's binds: a paused bind accepts no submit and keeps its session, a drained one
// waits for outstanding answers and unbinds, a resumed one reconnects. Receivers drain last, so that receipts still
// arrive.
import type { CarrierCommands, OperatorCommand, DesiredState } from '../../../cluster/operator-commands/contract.ts';
import { issuedBy, desiredStateOfBind } from '../../../cluster/operator-commands/commands.ts';
import type { BindGate } from './bind-gate.ts';

export type BindDesiredState<T> = {
  readonly type: 'transceiver' | 'transmitter' | 'receiver';
  readonly gate: Pick<BindGate<T>, 'rest' | 'wake' | 'retry'>;
  desiredState: DesiredState;
};

/** Longer than any response timer: a submit ends with its answer or as unknown, never with the session. */
const marginMs = 1_000;

export class BindCommands<T> {
  readonly #binds: readonly BindDesiredState<T>[];
  readonly #drainMs: number;
  #commands: CarrierCommands = { carrier: null, binds: new Map() };

  constructor(binds: readonly BindDesiredState<T>[], responseTimerMs: number) {
    this.#binds = binds;
    this.#drainMs = responseTimerMs + marginMs;
  }

  get commands(): CarrierCommands {
    return this.#commands;
  }

  /** Of the whole carrier: it submits nothing when none of its binds may. */
  get desiredState(): DesiredState {
    const whole = issuedBy(this.#commands.carrier);
    if (whole !== 'running') return whole;
    const submitting = this.#binds.filter((bind) => bind.type !== 'receiver');
    if (submitting.length === 0 || submitting.some((bind) => bind.desiredState === 'running')) return 'running';
    return submitting.every((bind) => bind.desiredState === 'drained') ? 'drained' : 'paused';
  }

  take(commands: CarrierCommands): void {
    const before = this.#commands;
    this.#commands = commands;
    const draining: Promise<void>[] = [];
    const receivers: BindDesiredState<T>[] = [];
    for (const [index, bind] of this.#binds.entries()) {
      const next = desiredStateOfBind(commands, index + 1);
      const was = bind.desiredState;
      bind.desiredState = next;
      if (was === 'drained' && next !== 'drained') bind.gate.wake();
      if (next === 'drained' && was !== 'drained') {
        if (bind.type === 'receiver') receivers.push(bind);
        else draining.push(bind.gate.rest(whyDrained, this.#drainMs));
      }
      const resumes =
        isNewResume(before.carrier, commands.carrier) ||
        isNewResume(before.binds.get(index + 1), commands.binds.get(index + 1));
      if (resumes && next === 'running') bind.gate.retry();
    }
    if (receivers.length > 0) void this.#restReceivers(draining, receivers);
  }

  async #restReceivers(draining: Promise<void>[], receivers: BindDesiredState<T>[]): Promise<void> {
    await Promise.all(draining);
    for (const bind of receivers) if (bind.desiredState === 'drained') void bind.gate.rest(whyDrained, this.#drainMs);
  }
}

const whyDrained = 'drained by an operator';

function isNewResume(before: OperatorCommand | null | undefined, after: OperatorCommand | null | undefined): boolean {
  return after?.verb === 'resume' && after.id !== before?.id;
}
