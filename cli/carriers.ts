// `carriers list|pause|drain|resume`: over NATS alone, so that a carrier can be stopped while the database is away; the
// audit record is durable with the order and reaches the database when that is back.
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
import { print } from './print.ts';
import { whereFrom } from './operator-name.ts';
import { withBus } from './with-bus.ts';

export type CommandOptions = { readonly bind?: string; readonly reason?: string; readonly json?: boolean };

export async function listCarriers(name: string | undefined, options: { json?: boolean }): Promise<void> {
  const configured = await configuredCarriers();
  const all = await withBus((bus) => answered(viewCarriers(bus, configured)));
  if (name !== undefined && !all.some((carrier) => carrier.name === name)) {
    throw noSuch(name, { ok: false, what: 'carrier', there: all.map((carrier) => carrier.name) });
  }
  const shown = all.filter((carrier) => name === undefined || carrier.name === name);
  print(options, { data: shown.map(carrierJson) }, shown.flatMap(carrierLines));
}

export async function issueCommandFromCli(verb: CommandVerb, name: string, options: CommandOptions): Promise<void> {
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
      ? 'recorded; nobody serves the carrier now, whoever does will follow it'
      : 'recorded; not all nodes that serve the carrier follow it yet';
  print(options, commandJson(given), [
    `${done[verb]}  ${target}  ${inEffect}`,
    ...carrierLines(given.carrier),
    ...stillCommanded(verb, bind, given.carrier),
  ]);
}

const done: Record<CommandVerb, string> = { pause: 'Paused', drain: 'Draining', resume: 'Resumed' };

/** A word that outlasts the carrier's own: who resumes a carrier may not know that a bind was stopped for itself. */
function stillCommanded(verb: CommandVerb, bind: number | null, carrier: CarrierView): string[] {
  if (verb !== 'resume') return [];
  if (bind !== null && carrier.desiredState !== 'running')
    return [`The carrier itself is ${carrier.desiredState}: carriers resume ${carrier.name}`];
  return carrier.binds
    .filter((each) => each.command !== null && each.bind !== bind)
    .map(
      (each) =>
        `Bind ${each.bind} stays ${each.desiredState} by an order of its own: carriers resume ${carrier.name} --bind ${each.bind}`,
    );
}

function carrierLines(carrier: CarrierView): string[] {
  const { name, desiredState, command, servedBy, inFlight, pace, binds } = carrier;
  const slowed = pace === null || pace.slowedBy === '' ? '' : `, ${paceText(pace)}`;
  const condition = servedBy === 0 ? 'served by nobody' : `${stateText(carrier)}, ${inFlight} held${slowed}`;
  return [
    `${name}  ${desiredState}  ${condition}${commandText(command)}`,
    ...binds.map((bind) => `  ${bindText(name, bind)}`),
  ];
}

/** A carrier that had a fault stays avoided for a while: who sees its binds bound must be told why. */
function stateText({ state, why, recovering }: CarrierView): string {
  if (state === null) return `not served${why === '' ? '' : ` (${why})`}`;
  if (recovering === null) return `${state}${why === '' ? '' : ` (${why})`}`;
  const { forMs, goodInMs } = recovering;
  return `${state} (${why}; recovering for ${seconds(forMs)}, good in ${seconds(goodInMs)} if it lasts)`;
}

/** `6 of 50/s (ESME_RTHROTTLED)`. */
export function paceText({ perS, ofPerS, slowedBy }: Pace): string {
  const short = (value: number) => Number(value.toFixed(value < 10 ? 1 : 0));
  return `${short(perS)} of ${short(ofPerS)}/s (${slowedBy})`;
}

export const seconds = (ms: number) => `${Math.ceil(ms / 1_000)} s`;

function bindText(
  carrier: string,
  { bind, type, desiredState, command, state, reason, windowUsed, window, nextTryInMs = null }: BindView,
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

/** What runs may differ from the file: those who serve carriers say what they serve, too. */
async function configuredCarriers(): Promise<readonly CarrierConfig[]> {
  try {
    return (await readConfiguration(effectiveConfigFileOrWarn().file)).carriers;
  } catch (error) {
    ignoring(error, 'the carriers are those that answer');
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

async function answered<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new SetupError(
      `NATS did not answer: ${messageOf(error)}. Whether an order was taken is not known: look with carriers list, or give it again`,
      error,
    );
  }
}
