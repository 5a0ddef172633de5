// The doctor's findings about a carrier of the running system: its binds, the operator commands in effect, and whether
// it is sent less than its contract. No I/O.
import { limits } from '../platform/limits.ts';
import { type BindConfig, type CarrierConfig, bindsOf } from '../config/configuration.ts';
import type { BindView, CarrierView } from '../cluster/operator-commands/carriers.ts';
import type { Pace } from '../cluster/operator-commands/contract.ts';
import { type Sessions, reportAdvice } from './bind-advice.ts';
import { commandText, paceText, seconds } from './carriers.ts';

/** The result of one check. `note`: correct, but worth reporting. */
export type Finding = { check: string; ok: boolean; note?: boolean; detail: string };

/** `forced`: the advice to use --force. */
export function reportedBinds(carrier: CarrierConfig, view: CarrierView, forced: string): Finding[] {
  const configured = bindsOf(carrier, {});
  return view.binds.map((bind) => {
    const config = configured[bind.bind - 1];
    const check = `${carrier.name}/${bind.bind}`;
    // Correct: another node has the bind, or an operator stopped it.
    const ok = bind.state === 'bound' || bind.state === 'resting' || bind.state === 'elsewhere';
    if (!ok) return { check, ok, detail: notBound(carrier, config, bind, view, forced) };
    const hint = bind.state === 'bound' ? ` (the running system has it${forced})` : '';
    const detail = `${bind.type} is ${bind.state}${hint}`;
    if (bind.command === null) return { check, ok, detail };
    const commanded = commandedText(bind.desiredState, bind.command, `${carrier.name} --bind ${bind.bind}`);
    return { check, ok, note: true, detail: `${detail}\n${commanded}` };
  });
}

function notBound(
  carrier: CarrierConfig,
  config: BindConfig | undefined,
  { type, state, reason, nextTryInMs }: BindView,
  view: CarrierView,
  forced: string,
): string {
  const next = nextTryInMs === null ? '' : `, next try in ${seconds(nextTryInMs)}`;
  // A simulated carrier is reachable only by the running system; its address means nothing here.
  const advice =
    config === undefined || carrier.simulate !== null
      ? null
      : reportAdvice(config, reason, sessionsOf(carrier, config, view));
  const found = `${type} is ${state}${reason === '' ? '' : `: ${reason}`}${next}`;
  const todo =
    advice?.todo ??
    (reason === '' ? 'run the doctor again in a moment' : 'see carriers list and the log of the actors');
  const again = state === 'stopped' ? `, then: carriers resume ${carrier.name}` : '';
  const what = advice === null ? '' : `; ${advice.what}`;
  return `${found}${what} (as the running system reports it${forced})\n→ ${todo}${again}`;
}

/** Sessions with these credentials at this address: those bound on any node, and those in heliograph.yaml. */
export function sessionsOf(carrier: CarrierConfig, { host, port, systemId }: BindConfig, view: CarrierView): Sessions {
  const same = bindsOf(carrier, {}).map(
    (bind) => bind.host === host && bind.port === port && bind.systemId === systemId,
  );
  const bound = view.binds.filter(({ bind, state }) => same[bind - 1] === true && state === 'bound').length;
  return { bound, wanted: same.filter(Boolean).length };
}

/** Findings about the whole carrier. */
export function aboutCarrier({ name, desiredState, command, pace }: CarrierView): Finding[] {
  const findings: Finding[] = [];
  if (command !== null)
    findings.push({ check: name, ok: true, note: true, detail: commandedText(desiredState, command, name) });
  if (pace !== null && pace.slowedBy !== '') {
    const ok = pace.perS >= limits.carrierHealth.slowedShare * pace.ofPerS;
    findings.push({ check: name, ok, note: ok, detail: `is sent ${paceText(pace)}\n→ ${whySlowed(pace)}` });
  }
  return findings;
}

function commandedText(desiredState: string, command: NonNullable<CarrierView['command']>, target: string): string {
  return `${desiredState} by an operator command: nothing is submitted${commandText(command)}\n→ to end it: carriers resume ${target}`;
}

const whySlowed = ({ slowedBy }: Pace) =>
  slowedBy === 'ESME_RMSGQFUL'
    ? 'the carrier reports a full queue: contact it if that lasts'
    : 'the carrier allows less than `tps`, or another system sends with this account: set `tps` to the rate of the contract';
