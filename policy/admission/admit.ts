// May this message go out, and how? The gates in their order, all on this page. Each is a pure function that
// answers null or a refusal; the first refusal ends it. Cheap gates stand before dear ones, and those about who
// asks before those about what is asked, so that a stranger learns nothing about numbers, senders or routes.
import { systemClock } from '../../platform/clock.ts';
import type { Admission, Applicant, Circumstances, Refusal, RoutingRules, SmsRequest } from '../contract.ts';
import { numberPlan } from '../country/number-plan.ts';
import { quietHours } from '../country/quiet-hours.ts';
import { type RouterOptions, router } from '../routing/route.ts';
import { contentRulesGate } from './content-rules-gate.ts';
import { type CreditCheck, nothingIsCharged } from './credit-gate.ts';
import { doNotDisturb } from './do-not-disturb-gate.ts';
import { optOutGate } from './opt-out-gate.ts';
import { quietHoursGate } from './quiet-hours-gate.ts';
import { senderGate } from './sender-gate.ts';
import { accountGate, scopeGate } from './standing-gates.ts';
import { templateGate } from './template-gate.ts';
import { contentGate, segmentsGate, textToSend } from './text-gates.ts';

export type Admit = (applicant: Applicant, request: SmsRequest) => Admission;

type Gate = (applicant: Applicant, request: SmsRequest) => Refusal | null;

/** The engine for one configuration. The function it returns does no I/O and keeps nothing. */
export function admission(
  rules: RoutingRules,
  circumstances: Circumstances = nothingSpecial,
  routing: RouterOptions = {},
  credit: CreditCheck = nothingIsCharged,
): Admit {
  const plan = numberPlan(rules.country);
  const disturb = doNotDisturb(rules.country.doNotDisturb);
  const quiet = quietHours(rules.country.quietHours ?? []);
  const blockedContent = contentRulesGate(rules.content);
  const { route } = router(rules, plan, routing);

  /** Who asks, for what number, in whose name. A new gate takes its place in one of these two lists. */
  const gatesBeforeText: readonly Gate[] = [
    scopeGate,
    accountGate,
    (_applicant, request) => plan.refuse(request.to),
    senderGate,
  ];
  /** Asked with the text as it will be read. */
  const gatesOfText: readonly Gate[] = [
    contentGate,
    (applicant, request) => blockedContent(applicant, request.message),
    ({ account }, request) => optOutGate(account.suppressions, request),
    // A test message reaches nobody, at no hour: these rules are for live keys, as the approval of senders is.
    ({ key }, { category, to }) => (key.livemode ? disturb.refuse(circumstances.registries().dnd, category, to) : null),
  ];

  return (applicant, asked) => {
    const { livemode } = applicant.key;
    const stranger = firstRefusal(gatesBeforeText, applicant, asked);
    if (stranger !== null) return stranger;
    // From here on gates do not only refuse: what they find out becomes part of the message.
    const written = templateGate(applicant, asked);
    if (!written.ok) return written;
    const text = textToSend(written.text, asked);
    const request = text === asked.message ? asked : { ...asked, message: text };
    const refusal = firstRefusal(gatesOfText, applicant, request);
    if (refusal !== null) return refusal;
    const counted = segmentsGate(request);
    if (!counted.ok) return counted;
    const hour = livemode ? quietHoursGate(quiet, request, circumstances.nowMs()) : anyHour;
    if (!hour.ok) return hour;
    const { to, from, category } = request;
    const routed = route({ to, category, from, livemode });
    if ('why' in routed) return { ok: false, code: 'no_route', field: 'to', detail: routed.why };
    const unpaid = livemode ? credit(applicant, counted.segmentCount) : null;
    if (unpaid !== null) return unpaid;
    const undisturbed = livemode ? disturb.trace(circumstances.registries().dnd, category) : null;
    return {
      ok: true,
      text,
      templateId: written.templateId,
      encoding: counted.encoding,
      segments: counted.segmentCount,
      ucs2Because: counted.forcedBy,
      route: routed,
      notBeforeMs: hour.notBeforeMs,
      trace: undisturbed === null ? [] : [undisturbed],
    };
  };
}

function firstRefusal(gates: readonly Gate[], applicant: Applicant, request: SmsRequest): Refusal | null {
  for (const gate of gates) {
    const refusal = gate(applicant, request);
    if (refusal !== null) return refusal;
  }
  return null;
}

const anyHour = { ok: true, notBeforeMs: null } as const;

/** No registry was ever imported. */
const nothingSpecial: Circumstances = {
  nowMs: () => systemClock.nowMs(),
  registries: () => ({ dnd: null, ported: null }),
};
