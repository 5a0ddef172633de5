// `carriers list|pause|drain|resume`. Uses only NATS, so that a carrier can be stopped while the database is
// unavailable; the audit record is durable with the command and reaches the database later.
import { SetupError, ignoring, messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { type CarrierConfig } from '../config/configuration.ts';
import { readConfiguration } from '../config/load.ts';
import {
  type BindView,
  type CarrierView,
  type NoSuch,
  carrierJson,
  commandCarrier,
  commandJson,
  viewCarriers,
} from '../cluster/operator-commands/carriers.ts';
import type { OperatorCommand, CommandVerb, Pace } from '../cluster/operator-commands/contract.ts';
import { effectiveConfigFileOrWarn } from './effective-config-file.ts';
import { whereFrom } from './operator-name.ts';
import type { Result } from './print.ts';
import { explained, withBus } from './with-bus.ts';

export async function listCarriers(name: string | undefined): Promise<Result> {
  const configured = await configuredCarriers();
  const all = await withBus((bus) => answered(viewCarriers(bus, configured)));
  if (name !== undefined && !all.some((carrier) => carrier.name === name)) {
    throw noSuch(name, { ok: false, what: 'carrier', there: all.map((carrier) => carrier.name) });
  }
  const shown = all.filter((carrier) => name === undefined || carrier.name === name);
  return { json: { data: shown.map(carrierJson) }, lines: shown.flatMap(carrierLines) };
}

type CommandOptions = { bind?: string; reason?: string };

export const issueCommandFromCli =
  (verb: CommandVerb) =>
  async (name: string, options: CommandOptions): Promise<Result> => {
    const bind = bindOf(name, options.bind);
    const reason = reasonOf(options.reason ?? '');
    const configured = await configuredCarriers();
    const command = { verb, carrier: name, bind, reason, actor: 'operator', from: whereFrom() };
    const given = await withBus((bus) => answered(commandCarrier(bus, configured, command)));
    if (!given.ok) throw noSuch(name, given);
    const target = bind === null ? name : `${name}/${bind}`;
    const inEffect = given.inEffect
      ? 'in effect'
      : given.carrier.servedBy === 0
        ? 'recorded; no node serves the carrier now, the next one will apply it'
        : 'recorded; not all nodes that serve the carrier have applied it yet';
    return {
      json: commandJson(given),
      lines: [
        `${done[verb]}  ${target}  ${inEffect}`,
        ...carrierLines(given.carrier),
        ...stillCommanded(verb, bind, given.carrier),
      ],
    };
  };

const done: Record<CommandVerb, string> = { pause: 'Paused', drain: 'Draining', resume: 'Resumed' };

/** Commands that stay in effect after `resume`: the carrier's, or those of single binds. */
function stillCommanded(verb: CommandVerb, bind: number | null, carrier: CarrierView): string[] {
  if (verb !== 'resume') return [];
  if (bind !== null && carrier.desiredState !== 'running')
    return [`The carrier itself is ${carrier.desiredState}: carriers resume ${carrier.name}`];
  return carrier.binds
    .filter((each) => each.command !== null && each.bind !== bind)
    .map(
      (each) =>
        `Bind ${each.bind} stays ${each.desiredState} by its own command: carriers resume ${carrier.name} --bind ${each.bind}`,
    );
}

function carrierLines(carrier: CarrierView): string[] {
  const { name, desiredState, command, servedBy, inFlight, pace, binds } = carrier;
  const slowed = pace === null || pace.slowedBy === '' ? '' : `, ${paceText(pace)}`;
  const condition = servedBy === 0 ? 'served by no node' : `${stateText(carrier)}, ${inFlight} in flight${slowed}`;
  return [
    `${name}  ${desiredState}  ${condition}${commandText(command)}`,
    ...binds.map((bind) => `  ${bindText(name, bind)}`),
  ];
}

/** A carrier is avoided for a while after a fault: says why, although its binds are bound. */
function stateText({ state, why, recovering }: CarrierView): string {
  if (state === null) return `not served${why === '' ? '' : ` (${why})`}`;
  if (recovering === null) return `${state}${why === '' ? '' : ` (${why})`}`;
  const { forMs, goodInMs } = recovering;
  return `${state} (${why}; recovering for ${seconds(forMs)}, good in ${seconds(goodInMs)} if it lasts)`;
}

/** For example `6 of 50/s (ESME_RTHROTTLED)`. */
export function paceText({ perS, ofPerS, slowedBy }: Pace): string {
  const short = (value: number) => Number(value.toFixed(value < 10 ? 1 : 0));
  return `${short(perS)} of ${short(ofPerS)}/s (${slowedBy})`;
}

export const seconds = (ms: number) => `${Math.ceil(ms / 1_000)} s`;

function bindText(
  carrier: string,
  { bind, type, desiredState, command, state, reason, windowUsed, window, nextTryInMs }: BindView,
): string {
  const next = nextTryInMs === null ? '' : `, next try in ${seconds(nextTryInMs)}`;
  const now = `${state}${reason === '' ? '' : `: ${reason}`}${next}`;
  const word = desiredState === 'running' ? '' : `  ${desiredState}`;
  return `${carrier}/${bind}  ${type}  ${now}  window ${windowUsed}/${window}${word}${commandText(command)}`;
}

export function commandText(command: OperatorCommand | null): string {
  if (command === null) return '';
  const { atMs, actor, from, reason } = command;
  return `  since ${new Date(atMs).toISOString()} by ${actor} (${from})${reason === '' ? '' : `: ${reason}`}`;
}

/** The carriers of the file; the nodes report theirs too, because the running system's may differ. */
async function configuredCarriers(): Promise<readonly CarrierConfig[]> {
  try {
    return (await readConfiguration(effectiveConfigFileOrWarn().file)).carriers;
  } catch (error) {
    ignoring(error, 'only the carriers that nodes report are listed');
    return [];
  }
}

/** `2` or `alpha/2`. */
function bindOf(carrier: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const number = text.startsWith(`${carrier}/`) ? text.slice(carrier.length + 1) : text;
  if (/^[1-9]\d{0,3}$/.test(number)) return Number(number);
  throw new SetupError(`--bind: found "${text}", expected a number from 1, such as 2 or ${carrier}/2`);
}

function reasonOf(text: string): string {
  const { reasonCharsMax } = limits.operations;
  if (text.length <= reasonCharsMax) return text;
  throw new SetupError(`--reason: found ${text.length} characters, expected at most ${reasonCharsMax}`);
}

function noSuch(name: string, { what, there }: NoSuch): SetupError {
  const list = there.length === 0 ? 'none' : there.join(', ');
  if (what === 'carrier') return new SetupError(`carrier_not_found: there is no carrier "${name}"; there are: ${list}`);
  return new SetupError(`bind_not_found: ${name} has the binds ${list}`);
}

const answered = <T>(work: Promise<T>) =>
  explained(
    work,
    (error) =>
      `NATS did not answer: ${messageOf(error)}. It is not known whether the command was recorded: check with carriers list, or repeat it`,
  );
