// May this message go out, and how? The gates in their order, all on this page. Each is a pure function that
// answers null or a refusal; the first refusal ends it. Cheap gates stand before dear ones, and those about who
// asks before those about what is asked, so that a stranger learns nothing about numbers, senders or routes.
import type { Admission, Applicant, Refusal, RoutingRules, SmsRequest } from '../contract.ts';
import { numberPlan } from '../country/number-plan.ts';
import { router } from '../routing/route.ts';
import { senderGate } from './sender-gate.ts';
import { accountGate, scopeGate } from './standing-gates.ts';
import { contentGate, segmentsGate } from './text-gates.ts';

export type Admit = (applicant: Applicant, request: SmsRequest) => Admission;

type Gate = (applicant: Applicant, request: SmsRequest) => Refusal | null;

/** The engine for one configuration. The function it returns does no I/O and keeps nothing. */
export function admission(rules: RoutingRules): Admit {
  const plan = numberPlan(rules.country);
  const { route } = router(rules, plan);

  /** A new gate takes its place in this list. */
  const gates: readonly Gate[] = [
    scopeGate,
    accountGate,
    (_applicant, request) => plan.refuse(request.to),
    senderGate,
    contentGate,
  ];

  return (applicant, request) => {
    for (const gate of gates) {
      const refusal = gate(applicant, request);
      if (refusal !== null) return refusal;
    }
    // The last two do not only refuse: what they find out becomes part of the message.
    const counted = segmentsGate(request);
    if (!counted.ok) return counted;
    const routed = route(request.to, request.category, applicant.key.livemode);
    if (routed.carrier === null) return { ok: false, code: 'no_route', field: 'to', detail: routed.why };
    return {
      ok: true,
      encoding: counted.encoding,
      segments: counted.segmentCount,
      carrier: routed.carrier,
      trace: [routed.reason],
    };
  };
}
