// Decides whether a message is accepted: runs the gates (gates.ts) in order; each is a pure function that returns
// null or a refusal, and the first refusal ends it. It runs for every message of every entry point.
import { languagesOf, type Shift } from '../../model/text/national-languages.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Admission, Principal, Circumstances, Refusal, RoutingRules, SmsRequest } from '../contract.ts';
import type { RouterOptions } from '../routing/route.ts';
import { type CreditCheck, nothingIsCharged } from './credit-gate.ts';
import { type Gate, gatesOf, noRoute, tablesOf } from './gates.ts';
import { templateGate } from './template-gate.ts';
import { segmentsGate, textToSend } from './text-gates.ts';

export type Admit = (principal: Principal, request: SmsRequest) => Admission;

/** The engine for one configuration. The function it returns does no I/O and keeps nothing. */
export function admission(
  rules: RoutingRules,
  circumstances: Circumstances = nothingSpecial,
  routing: RouterOptions = {},
  credit: CreditCheck = nothingIsCharged,
): Admit {
  const gates = gatesOf(rules, circumstances, routing, credit);
  return (principal, asked) => {
    const foreign = firstRefusal(gates.beforeText, principal, asked);
    if (foreign !== null) return foreign;
    // From here on gates do not only refuse: what they find out becomes part of the message.
    const written = templateGate(principal, asked);
    if (!written.ok) return written;
    // Asked before its turn, because the text's encoding depends on what the carriers understand; reported in its turn.
    const routed = gates.route(principal, asked);
    const nationalTables = tablesOf(routed);
    const text = textToSend(written.text, asked, nationalTables);
    const request = text === asked.message ? asked : { ...asked, message: text };
    const unreadable = firstRefusal(gates.ofText, principal, request);
    if (unreadable !== null) return unreadable;
    const counted = segmentsGate(request, nationalTables);
    if (!counted.ok) return counted;
    const refusal = firstRefusal(gates.afterCount, principal, request);
    if (refusal !== null) return refusal;
    const hour = gates.hour(principal, request);
    if (!hour.ok) return hour;
    if ('why' in routed) return noRoute(routed.why);
    const unpaid = gates.credit(principal, counted.segmentCount);
    if (unpaid !== null) return unpaid;
    return {
      ok: true,
      text,
      templateId: written.templateId,
      encoding: counted.encoding,
      shift: counted.shift,
      segments: counted.segmentCount,
      ucs2Because: counted.forcedBy,
      route: routed,
      notBeforeMs: hour.notBeforeMs,
      trace: withTables(gates.trace(principal, request), counted.shift),
    };
  };
}

function withTables(trace: readonly string[], shift: Shift): readonly string[] {
  const isPlain = shift.locking === 0 && shift.single === 0;
  return isPlain ? trace : [...trace, `national tables: ${languagesOf(shift)}`];
}

function firstRefusal(gates: readonly Gate[], principal: Principal, request: SmsRequest): Refusal | null {
  for (const gate of gates) {
    const refusal = gate.refuse(principal, request);
    if (refusal !== null) return refusal;
  }
  return null;
}

/** No registry was ever imported. */
export const nothingSpecial: Circumstances = {
  nowMs: () => systemClock.nowMs(),
  registries: () => ({ dnd: null, ported: null }),
};
