// Decides whether a message is accepted: evaluates the gates (gates.ts) in order until the first refusal. It runs for
// every message of every entry point.
import { languagesOf, type Shift } from '../../model/text/national-languages.ts';
import { assert } from '../../platform/assert.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Admission, Admitted, Principal, Circumstances, RoutingRules, SmsRequest } from '../contract.ts';
import type { RouterOptions } from '../routing/route.ts';
import { type CreditCheck, nothingIsCharged, type Gates, gatesOf, Evaluation } from './gates.ts';

export type Admit = (principal: Principal, request: SmsRequest) => Admission;

/** The engine for one configuration. The function it returns is stateless and does no I/O. */
export function admission(
  rules: RoutingRules,
  circumstances: Circumstances = nothingSpecial,
  routing: RouterOptions = {},
  credit: CreditCheck = nothingIsCharged,
): Admit {
  const gates = gatesOf(rules, circumstances, routing, credit);
  return (principal, asked) => {
    const evaluation = new Evaluation(principal, asked, gates.route);
    for (const gate of gates.list) {
      const refusal = gate.refuse(evaluation);
      if (refusal !== null) return refusal;
    }
    return admittedBy(evaluation, gates);
  };
}

function admittedBy(evaluation: Evaluation, gates: Gates): Admitted {
  const { principal, request, text, templateId, links, counted, routed, notBeforeMs, callback } = evaluation;
  assert(
    text !== null && counted !== null && !('why' in routed),
    'the gates let a message pass without a text or route',
  );
  return {
    ok: true,
    text,
    templateId,
    links,
    encoding: counted.encoding,
    shift: counted.shift,
    segments: counted.segmentCount,
    ucs2Because: counted.forcedBy,
    route: routed,
    notBeforeMs,
    callback,
    trace: withTables(gates.trace(principal, request), counted.shift),
  };
}

function withTables(trace: readonly string[], shift: Shift): readonly string[] {
  const isPlain = shift.locking === 0 && shift.single === 0;
  return isPlain ? trace : [...trace, `national tables: ${languagesOf(shift)}`];
}

/** No registry was ever imported. */
export const nothingSpecial: Circumstances = {
  nowMs: () => systemClock.nowMs(),
  registries: () => ({ dnd: null, ported: null }),
};
