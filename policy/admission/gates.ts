// The gates of one configuration, by name and in order. admit.ts stops at the first refusal, because it runs for
// every message; explain.ts runs all of them. Both make the text and count its segments in between. Cheap gates come
// first, and gates about the caller before gates about the message, so that an unauthorised caller learns nothing
// about numbers, senders or routes.
import type { Category } from '../../model/message.ts';
import type { NationalLanguage } from '../../model/text/national-languages.ts';
import type { Principal, Circumstances, Refusal, RoutingRules, SmsRequest } from '../contract.ts';
import { numberPlan } from '../country/number-plan.ts';
import { quietHours } from '../country/quiet-hours.ts';
import { type Routed, type RouterOptions, router } from '../routing/route.ts';
import { contentRulesGate } from './content-rules-gate.ts';
import type { CreditCheck } from './credit-gate.ts';
import { type DoNotDisturb, doNotDisturb } from './do-not-disturb-gate.ts';
import { optOutGate } from './opt-out-gate.ts';
import { type QuietVerdict, quietHoursGate } from './quiet-hours-gate.ts';
import { dueOf, sendAtGate } from './send-at-gate.ts';
import { senderGate } from './sender-gate.ts';
import { accountGate, scopeGate } from './standing-gates.ts';
import { contentGate, lengthGate } from './text-gates.ts';

export type Gate = {
  readonly name: string;
  refuse(principal: Principal, request: SmsRequest): Refusal | null;
  /** For explanations: what its silence means. Never asked on the way of a message. */
  note?(principal: Principal, request: SmsRequest): GateNote | null;
};

export type GateNote = { readonly verdict: 'passed' | 'not_asked'; readonly detail: string | null };

export type Gates = {
  /**
   * Who asks, for what number, in whose name, for when. A new gate about what is known without the text takes its place
   * here, any other below.
   */
  readonly beforeText: readonly Gate[];
  /** Whether the text, as it will be read, may be looked at closely: its length first. Then its segments are counted. */
  readonly ofText: readonly Gate[];
  /** Asked with a text that is known to fit: the time of the first is bounded by what fits. */
  readonly afterCount: readonly Gate[];
  /** When it may go out. */
  hour(principal: Principal, request: SmsRequest): QuietVerdict;
  route(principal: Principal, request: SmsRequest): Routed;
  credit(principal: Principal, segments: number): Refusal | null;
  /** What the message's trace says of registries that were asked. */
  trace(principal: Principal, request: SmsRequest): readonly string[];
};

export function gatesOf(
  rules: RoutingRules,
  circumstances: Circumstances,
  routing: RouterOptions,
  credit: CreditCheck,
): Gates {
  const numbers = numberPlan(rules.country);
  const disturb = doNotDisturb(rules.country.doNotDisturb);
  const quiet = quietHours(rules.country.quietHours ?? []);
  const blockedContent = contentRulesGate(rules.content);
  const { route } = router(rules, numbers, routing);
  return {
    beforeText: [
      { name: 'scope', refuse: scopeGate },
      { name: 'account', refuse: accountGate },
      { name: 'send_at', refuse: (_principal, { sendAtMs }) => sendAtGate(sendAtMs, circumstances.nowMs()) },
      { name: 'recipient', refuse: (_principal, { to }) => numbers.refuse(to) },
      { name: 'sender', refuse: senderGate, note: senderNote },
    ],
    ofText: [
      { name: 'length', refuse: lengthGate },
      { name: 'content', refuse: contentGate },
    ],
    afterCount: [
      { name: 'content_rules', refuse: (principal, { message }) => blockedContent(principal, message) },
      { name: 'opt_out', refuse: ({ account }, request) => optOutGate(account.suppressions, request) },
      {
        name: 'do_not_disturb',
        // A test message reaches nobody, at no hour: these rules are for live keys, as the approval of senders is.
        refuse: ({ livemode }, { category, to }) =>
          livemode ? disturb.refuse(circumstances.registries().dnd, category, to) : null,
        note: ({ livemode }, { category }) => disturbNote(disturb, circumstances, livemode, category),
      },
    ],
    hour({ livemode }, request) {
      const { sendAtMs = null } = request;
      if (sendAtMs === null && !livemode) return anyHour;
      const nowMs = circumstances.nowMs();
      return dueOf(livemode ? quietHoursGate(quiet, request, sendAtMs ?? nowMs) : anyHour, sendAtMs, nowMs);
    },
    route: ({ livemode }, { to, category, from }) => route({ to, category, from, livemode }),
    credit: (principal, segments) => (principal.livemode ? credit(principal, segments) : null),
    trace({ livemode }, { category }) {
      const asked = livemode ? disturb.trace(circumstances.registries().dnd, category) : null;
      return asked === null ? [] : [asked];
    },
  };
}

function senderNote({ livemode, account }: Principal, { from }: SmsRequest): GateNote | null {
  if (livemode || account.senders.has(from)) return null;
  return { verdict: 'passed', detail: 'a test key needs no approval: a live key would be refused' };
}

function disturbNote(
  disturb: DoNotDisturb,
  circumstances: Circumstances,
  livemode: boolean,
  category: Category,
): GateNote {
  const { dnd } = circumstances.registries();
  const notAsked = (detail: string): GateNote => ({ verdict: 'not_asked', detail });
  if (!livemode) return notAsked('test messages reach nobody');
  if (!disturb.applies(category)) return notAsked(`the registry is not asked for ${category} messages`);
  return dnd === null
    ? notAsked('no registry was imported')
    : { verdict: 'passed', detail: disturb.trace(dnd, category) };
}

/** What the text may be counted with. Without a route nothing is sent: it is counted as any telephone reads it. */
export function tablesOf(routed: Routed): readonly NationalLanguage[] {
  return 'why' in routed ? [] : routed.nationalTables;
}

export function noRoute(why: string): Refusal {
  return { ok: false, code: 'no_route', field: 'to', detail: why };
}

const anyHour = { ok: true, notBeforeMs: null } as const;
