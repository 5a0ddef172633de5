// Decides whether a message is accepted: the gates of one configuration as one list, evaluated in order until the first
// refusal, for every message of every entry point. explain.ts evaluates every gate of the same list that it can. Cheap
// gates come first, and gates about the principal before gates about the message, so that a caller who may not send
// learns nothing about numbers, senders or routes. A new gate is a row of the list.
import type {
  Admission,
  Admitted,
  Principal,
  Circumstances,
  LinkRules,
  Refusal,
  RoutingRules,
  SmsRequest,
} from '../contract.ts';
import { numberPlan } from '../country/number-plan.ts';
import { type QuietHours, quietHours } from '../country/quiet-hours.ts';
import { type RouterOptions, router } from '../routing/route.ts';
import { type DoNotDisturb, doNotDisturb, optOutGate } from './recipient-gates.ts';
import { type AskRoute, Evaluation } from './evaluation.ts';
import { quietHoursGate, sendAtGate } from './hour-gates.ts';
import { accountGate, callbackGate, scopeGate, senderGate } from './principal-gates.ts';
import { contentGate, contentRulesGate, lengthGate, segmentsGate, templateGate } from './text-gates.ts';
import { type Shift, languagesOf } from '../../model/text/national-languages.ts';
import { assert } from '../../platform/assert.ts';
import { systemClock } from '../../platform/clock.ts';

export type Admit = (principal: Principal, request: SmsRequest) => Admission;

/** The engine for one configuration. The function it returns is stateless and does no I/O. */
export function admission(
  rules: RoutingRules,
  circumstances: Circumstances = noRegistries,
  routing: RouterOptions = {},
  credit: CreditCheck = noCharge,
): Admit {
  const gates = gatesOf(rules, circumstances, routing, credit);
  return (principal, original) => {
    const evaluation = new Evaluation(principal, original, gates.route);
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
export const noRegistries: Circumstances = {
  nowMs: () => systemClock.nowMs(),
  registries: () => ({ dnd: null, ported: null }),
};

export type Gate = {
  readonly name: string;
  /** Earlier gates that must have been evaluated and have passed. */
  readonly needs?: readonly string[];
  /** It reads the text, which a template may have failed to give. */
  readonly needsText?: true;
  /** It may hold the message (`of.holdUntil`): an explanation asks it again for the earliest time. */
  readonly holds?: true;
  /** Null: the message passes; the gate stores its findings in `of`. */
  refuse(of: Evaluation): Refusal | null;
  /** For explanations only: what the absence of a refusal means. */
  note?(of: Evaluation): GateNote | null;
};

export type GateNote = { readonly verdict: 'passed' | 'not_asked'; readonly detail: string | null };

export type Gates = {
  readonly list: readonly Gate[];
  readonly route: AskRoute;
  /** The lines about registries for the message's trace. */
  trace(principal: Principal, request: SmsRequest): readonly string[];
};

export function gatesOf(
  rules: RoutingRules,
  circumstances: Circumstances,
  routing: RouterOptions,
  credit: CreditCheck,
): Gates {
  const numbers = numberPlan(rules.country);
  const dndGate = doNotDisturb(rules.country.doNotDisturb);
  const quiet = quietHours(rules.country.quietHours ?? []);
  const blockedContent = contentRulesGate(rules.content);
  const { route } = router(rules, routing);
  const list: readonly Gate[] = [
    // The principal, the recipient, the sender, the time.
    { name: 'scope', refuse: ({ principal }) => scopeGate(principal) },
    { name: 'account', refuse: ({ principal }) => accountGate(principal) },
    { name: 'send_at', holds: true, refuse: (of) => holdForSendAt(of, circumstances.nowMs()) },
    { name: 'callback_url', refuse: readCallback },
    { name: 'recipient', refuse: ({ original }) => numbers.refuse(original.to) },
    { name: 'sender', refuse: ({ principal, original }) => senderGate(principal, original), note: senderNote },
    // The text as it will be read. Its length first: later gates may read it as often as they need.
    { name: 'template', refuse: (of) => readTemplate(of, rules.links), note: templateNote },
    { name: 'length', needsText: true, refuse: ({ principal, request }) => lengthGate(principal, request) },
    { name: 'content', needs: ['length'], refuse: ({ principal, request }) => contentGate(principal, request) },
    { name: 'segments', needs: ['length'], refuse: countSegments },
    {
      name: 'content_rules',
      needs: ['segments'],
      // With the targets of its links: a short link must not hide a domain that may not be linked.
      refuse: ({ principal, textWithTargets }) => blockedContent(principal, textWithTargets),
    },
    // Whether and when this number may get it.
    {
      name: 'opt_out',
      needs: ['recipient'],
      refuse: ({ principal, request }) => optOutGate(principal.account.suppressions, request),
    },
    {
      name: 'do_not_disturb',
      needs: ['recipient'],
      // A test message reaches nobody: these rules, like the approval of senders, are for live mode.
      refuse: ({ principal, request: { category, to } }) =>
        principal.livemode ? dndGate.refuse(circumstances.registries().dnd, category, to) : null,
      note: (of) => disturbNote(dndGate, circumstances, of),
    },
    {
      // The last of those that hold: it looks at the time that the others have left.
      name: 'quiet_hours',
      needs: ['send_at'],
      holds: true,
      refuse: (of) => holdForQuietHours(of, quiet, circumstances.nowMs()),
      note: ({ principal }) => (principal.livemode ? null : notAsked('test messages have no quiet hours')),
    },
    // The carriers, and the credit.
    { name: 'route', needs: ['recipient'], refuse: ({ routed }) => ('why' in routed ? noRoute(routed.why) : null) },
    {
      name: 'credit',
      needs: ['segments'],
      refuse: ({ principal, counted }) =>
        principal.livemode && counted !== null ? credit(principal, counted.segmentCount) : null,
      note: ({ principal }) => creditNote(credit, principal),
    },
  ];
  return {
    list,
    route: ({ livemode }, { to, category, from }) => route({ to, category, from, livemode }),
    trace({ livemode }, { category }) {
      const asked = livemode ? dndGate.trace(circumstances.registries().dnd, category) : null;
      return asked === null ? [] : [asked];
    },
  };
}

function readCallback(of: Evaluation): Refusal | null {
  const { principal, original } = of;
  if (original.callbackUrl == null) return null;
  const read = callbackGate(principal, original.callbackUrl);
  if (!read.ok) return read;
  of.callback = read.callback;
  return null;
}

function readTemplate(of: Evaluation, links: LinkRules | undefined): Refusal | null {
  const given = templateGate(of.principal, of.original);
  if (given.ok) {
    of.templateId = given.templateId;
    return of.takeText(given.text, links);
  }
  // The request's own text is explained although no template gives it.
  if (of.original.template == null) of.takeText(of.original.message, links);
  return given;
}

function holdForSendAt(of: Evaluation, nowMs: number): Refusal | null {
  const { sendAtMs } = of.original;
  const refusal = sendAtGate(sendAtMs, nowMs);
  if (refusal === null && sendAtMs != null) of.holdUntil(sendAtMs);
  return refusal;
}

function holdForQuietHours(of: Evaluation, quiet: QuietHours, nowMs: number): Refusal | null {
  if (!of.principal.livemode) return null;
  const verdict = quietHoursGate(quiet, of.request, of.notBeforeMs ?? nowMs, nowMs);
  if (!verdict.ok) return verdict;
  if (verdict.untilMs !== null) of.holdUntil(verdict.untilMs);
  return null;
}

function countSegments(of: Evaluation): Refusal | null {
  const counted = segmentsGate(of.request, of.nationalTables);
  if (!counted.ok) return counted;
  of.counted = counted;
  return null;
}

function senderNote({ principal: { livemode, account }, original: { from } }: Evaluation): GateNote | null {
  if (livemode || account.senders.has(from)) return null;
  return { verdict: 'passed', detail: 'a test key needs no approval: a live key would be refused' };
}

function templateNote({ templateId }: Evaluation): GateNote | null {
  return templateId === null ? null : { verdict: 'passed', detail: `is a text of ${templateId}` };
}

function disturbNote(
  dndGate: DoNotDisturb,
  circumstances: Circumstances,
  { principal: { livemode }, request: { category } }: Evaluation,
): GateNote {
  const { dnd } = circumstances.registries();
  if (!livemode) return notAsked('test messages reach nobody');
  if (!dndGate.applies(category)) return notAsked(`the registry is not asked for ${category} messages`);
  return dnd === null
    ? notAsked('no registry was imported')
    : { verdict: 'passed', detail: dndGate.trace(dnd, category) };
}

/** Nobody was refused: the account can pay, or nothing was checked. */
function creditNote(credit: CreditCheck, { livemode }: Principal): GateNote | null {
  if (credit === noCharge) return notAsked('nothing is charged in this version');
  return livemode ? null : notAsked('test messages are not charged');
}

const notAsked = (detail: string): GateNote => ({ verdict: 'not_asked', detail });

function noRoute(why: string): Refusal {
  return { ok: false, code: 'no_route', field: 'to', detail: why };
}

/** Whether the account can pay for so many segments. It must answer from memory. */
export type CreditCheck = (principal: Principal, segments: number) => Refusal | null;

export const noCharge: CreditCheck = () => null;
