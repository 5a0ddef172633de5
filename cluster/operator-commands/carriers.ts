// The carriers for an operator, and the only way to issue a command, used by the command line and the management API:
// combines configuration, desired state and the reports of the actors.
import { type CarrierConfig, bindsOf } from '../../config/configuration.ts';
import { type CarrierState, type DesiredState, carrierStates } from '../../model/carrier-state.ts';
import { systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { snakeFields } from '../../platform/letter-case.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from '../bus/connect.ts';
import type { BindReport, CarrierCommands, CarrierReport, OperatorCommand, Pace } from './contract.ts';
import { type NewCommand, issueCommand, noCommands, issuedBy, desiredStateOfBind, readCommands } from './commands.ts';
import { askForCarriers, mergedBinds } from './reports.ts';

export type BindView = BindReport & {
  /** The stricter of its own and its carrier's desired state. */
  readonly desiredState: DesiredState;
  /** Its own command; null when it has none. */
  readonly command: OperatorCommand | null;
};

/** `why`, `pace` and `recovering` cover all nodes that have binds of it; `pace` is null while no node reports one. */
export type CarrierView = Pick<CarrierReport, 'why' | 'inFlight' | 'pace' | 'recovering'> & {
  readonly name: string;
  readonly desiredState: DesiredState;
  readonly command: OperatorCommand | null;
  /** As published to the entry points; null while no node answers for it or has a bind of it. */
  readonly state: CarrierState | null;
  /** Threads that answer for it, standby ones included: one per node. */
  readonly servedBy: number;
  readonly binds: readonly BindView[];
};

/** The answer to an unknown name; `there` lists the known ones. */
export type NoSuch = { readonly ok: false; readonly what: 'carrier' | 'bind'; readonly there: readonly string[] };
export type Given = {
  readonly ok: true;
  readonly command: OperatorCommand;
  /** Every thread that serves the carrier follows it; false also when none does at the moment. */
  readonly inEffect: boolean;
  readonly carrier: CarrierView;
};

export async function viewCarriers(bus: Bus, configured: readonly CarrierConfig[]): Promise<CarrierView[]> {
  const [commands, reports] = await Promise.all([readCommands(bus), askForCarriers(bus)]);
  return viewsOf(configured, commands, reports);
}

export function viewsOf(
  configured: readonly CarrierConfig[],
  commands: ReadonlyMap<string, CarrierCommands>,
  reports: readonly CarrierReport[],
): CarrierView[] {
  const names = new Set([...configured.map(({ name }) => name), ...reports.map(({ carrier }) => carrier)]);
  return [...names].map((name) =>
    viewOf(
      name,
      configured.find((carrier) => carrier.name === name),
      commands.get(name) ?? noCommands,
      reports.filter(({ carrier }) => carrier === name),
    ),
  );
}

/** Rejects when it is unknown whether the command was stored. */
export async function commandCarrier(
  bus: Bus,
  configured: readonly CarrierConfig[],
  given: NewCommand,
): Promise<Given | NoSuch> {
  const refused = isConfigured(configured, given) ? null : refusalOf(given, await viewCarriers(bus, configured));
  if (refused !== null) return refused;
  const command = await issueCommand(bus, { ...given, reason: await reasonOf(bus, given) });
  const endAtMs = systemClock.monotonicMs() + limits.operations.effectiveWithinMs;
  for (;;) {
    const reports = (await askForCarriers(bus)).filter(({ carrier }) => carrier === given.carrier);
    const follow = reports.filter(({ commands }) => commands.includes(command.id));
    const inEffect = reports.length > 0 && follow.length === reports.length;
    if (!inEffect && reports.length > 0 && systemClock.monotonicMs() < endAtMs) continue;
    const commands = (await readCommands(bus)).get(given.carrier) ?? noCommands;
    const config = configured.find(({ name }) => name === given.carrier);
    return { ok: true, command, inEffect, carrier: viewOf(given.carrier, config, commands, reports) };
  }
}

/** A repeated command without a reason keeps the reason of the one in effect. */
async function reasonOf(bus: Bus, { verb, carrier, bind, reason }: NewCommand): Promise<string> {
  if (reason !== '' || verb === 'resume') return reason;
  try {
    const commands = (await readCommands(bus)).get(carrier) ?? noCommands;
    const inEffect = bind === null ? commands.carrier : commands.binds.get(bind);
    return inEffect?.verb === verb ? inEffect.reason : '';
  } catch (error) {
    ignoring(error, 'the command is issued without the earlier reason');
    return '';
  }
}

function isConfigured(configured: readonly CarrierConfig[], { carrier, bind }: NewCommand): boolean {
  const config = configured.find(({ name }) => name === carrier);
  return config !== undefined && (bind === null || (bind > 0 && bind <= bindsOf(config, {}).length));
}

function refusalOf({ carrier: name, bind }: NewCommand, all: readonly CarrierView[]): NoSuch | null {
  const carrier = all.find((each) => each.name === name);
  if (carrier === undefined) return { ok: false, what: 'carrier', there: all.map((each) => each.name) };
  if (bind === null || carrier.binds.some((each) => each.bind === bind)) return null;
  return { ok: false, what: 'bind', there: carrier.binds.map((each) => String(each.bind)) };
}

function viewOf(
  name: string,
  config: CarrierConfig | undefined,
  commands: CarrierCommands,
  reports: readonly CarrierReport[],
): CarrierView {
  // Of several nodes that have binds the best one, as at the entry points.
  const speaking = reports.filter(({ standby }) => !standby);
  const best = carrierStates.flatMap((state) => speaking.filter((report) => report.state === state))[0];
  return {
    name,
    desiredState: issuedBy(commands.carrier),
    command: effective(commands.carrier),
    state: best?.state ?? null,
    why: best?.why ?? (reports.length > 0 ? 'no node has its binds' : ''),
    servedBy: reports.length,
    inFlight: reports.reduce((sum, { inFlight }) => sum + inFlight, 0),
    pace: paceOf(speaking),
    recovering: best?.recovering ?? null,
    binds: bindsSeen(config, reports).map((bind) => ({
      ...bind,
      desiredState: desiredStateOfBind(commands, bind.bind),
      command: effective(commands.binds.get(bind.bind)),
    })),
  };
}

function paceOf(reports: readonly CarrierReport[]): Pace | null {
  const paces = reports.flatMap(({ pace }) => pace ?? []);
  if (paces.length === 0) return null;
  return {
    perS: paces.reduce((sum, { perS }) => sum + perS, 0),
    ofPerS: paces.reduce((sum, { ofPerS }) => sum + ofPerS, 0),
    slowedBy: paces.find(({ slowedBy }) => slowedBy !== '')?.slowedBy ?? '',
  };
}

const effective = (command: OperatorCommand | null | undefined) =>
  issuedBy(command) === 'running' ? null : (command ?? null);

/** The binds as reported, else as configured: a command may be given before any node serves the carrier. */
function bindsSeen(config: CarrierConfig | undefined, reports: readonly CarrierReport[]): BindReport[] {
  const reported = mergedBinds(reports);
  if (reported.length > 0 || config === undefined) return reported;
  return bindsOf(config, {}).map(({ type, window }, index) => ({
    bind: index + 1,
    type,
    state: 'unknown',
    reason: '',
    windowUsed: 0,
    window,
    nextTryInMs: null,
  }));
}

export function carrierJson(carrier: CarrierView): Record<string, unknown> {
  const { name, desiredState, command, state, why, servedBy, inFlight, pace, recovering, binds } = carrier;
  return {
    ...{ name, object: 'carrier', ...snakeFields({ desiredState, state, why, servedBy, inFlight }) },
    command: effectiveJson(command),
    pace: pace && { per_s: tenths(pace.perS), of_per_s: tenths(pace.ofPerS), slowed_by: pace.slowedBy },
    recovering: recovering && {
      for_s: Math.floor(recovering.forMs / 1_000),
      good_in_s: Math.ceil(recovering.goodInMs / 1_000),
    },
    binds: binds.map((each) => {
      const { bind, type, desiredState, state, reason, windowUsed, window, nextTryInMs } = each;
      return {
        ...snakeFields({ bind, type, desiredState, state, reason, windowUsed, window }),
        command: effectiveJson(each.command),
        next_try_in_s: nextTryInMs === null ? null : Math.ceil(nextTryInMs / 1_000),
      };
    }),
  };
}

const tenths = (value: number) => Math.round(value * 10) / 10;

function effectiveJson(command: OperatorCommand | null): Record<string, unknown> | null {
  if (command === null) return null;
  const { id, atMs, actor, from, reason } = command;
  return snakeFields({ id, atMs, actor, from, reason });
}

/** The answer to a command. */
export function commandJson({ command, inEffect, carrier }: Given): Record<string, unknown> {
  const { id, verb, bind } = command;
  const target = bind === null ? carrier.name : `${carrier.name}/${bind}`;
  return { id, object: 'order', verb, target, in_effect: inEffect, carrier: carrierJson(carrier) };
}
