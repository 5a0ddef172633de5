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
import { quietHours } from '../country/quiet-hours.ts';
import { type RouterOptions, router, type Routed } from '../routing/route.ts';
import { type DoNotDisturb, doNotDisturb, optOutGate } from './recipient-gates.ts';
import { type QuietVerdict, quietHoursGate, dueOf, sendAtGate } from './hour-gates.ts';
import { accountGate, callbackGate, scopeGate, senderGate } from './principal-gates.ts';
import { type ShortenedText, refuseOwnPlaceholder, shortenLinks, sourceOf } from './tracked-links.ts';
import { contentGate, contentRulesGate, lengthGate, segmentsGate, templateGate, textToSend } from './text-gates.ts';
import type { MessageCallback } from '../../model/message.ts';
import { type NationalLanguage, type Shift, languagesOf } from '../../model/text/national-languages.ts';
import type { SegmentCount } from '../../model/text/segment-count.ts';
import { assert } from '../../platform/assert.ts';
import { systemClock } from '../../platform/clock.ts';

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

export type Gate = {
  readonly name: string;
  /** Earlier gates that must have been evaluated and have passed. */
  readonly needs?: readonly string[];
  /** It reads the text, which a template may have failed to give. */
  readonly needsText?: true;
  /** Null: the message passes; the gate stores its findings in `of`. */
  refuse(of: Evaluation): Refusal | null;
  /** For explanations only: what the absence of a refusal means. */
  note?(of: Evaluation): GateNote | null;
};

export type GateNote = { readonly verdict: 'passed' | 'held' | 'not_asked'; readonly detail: string | null };

export type Gates = {
  readonly list: readonly Gate[];
  readonly route: AskRoute;
  /** When it may be sent by every gate that holds messages: an explanation asks it with other fields of the request. */
  hour(principal: Principal, request: SmsRequest): QuietVerdict;
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
  const disturb = doNotDisturb(rules.country.doNotDisturb);
  const quiet = quietHours(rules.country.quietHours ?? []);
  const blockedContent = contentRulesGate(rules.content);
  const { route } = router(rules, routing);
  const hour: Gates['hour'] = ({ livemode }, request) => {
    const { sendAtMs = null } = request;
    if (sendAtMs === null && !livemode) return anyHour;
    const nowMs = circumstances.nowMs();
    return dueOf(livemode ? quietHoursGate(quiet, request, sendAtMs ?? nowMs) : anyHour, sendAtMs, nowMs);
  };
  const list: readonly Gate[] = [
    // The principal, the recipient, the sender, the time.
    { name: 'scope', refuse: ({ principal }) => scopeGate(principal) },
    { name: 'account', refuse: ({ principal }) => accountGate(principal) },
    { name: 'send_at', refuse: ({ asked }) => sendAtGate(asked.sendAtMs, circumstances.nowMs()) },
    { name: 'callback_url', refuse: readCallback },
    { name: 'recipient', refuse: ({ asked }) => numbers.refuse(asked.to) },
    { name: 'sender', refuse: ({ principal, asked }) => senderGate(principal, asked), note: senderNote },
    // The text as it will be read. Its length first: later gates may read it as often as they need.
    { name: 'template', refuse: (of) => readTemplate(of, rules.links), note: templateNote },
    { name: 'length', needsText: true, refuse: ({ principal, request }) => lengthGate(principal, request) },
    { name: 'content', needs: ['length'], refuse: ({ principal, request }) => contentGate(principal, request) },
    { name: 'segments', needs: ['length'], refuse: countSegments },
    {
      name: 'content_rules',
      needs: ['segments'],
      // As it was written: a short link must not hide a domain that may not be linked.
      refuse: ({ principal, written }) => blockedContent(principal, written),
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
        principal.livemode ? disturb.refuse(circumstances.registries().dnd, category, to) : null,
      note: (of) => disturbNote(disturb, circumstances, of),
    },
    {
      name: 'quiet_hours',
      needs: ['send_at'],
      refuse(of) {
        const verdict = hour(of.principal, of.request);
        if (!verdict.ok) return verdict;
        return of.holdUntil(verdict.notBeforeMs);
      },
      note: hourNote,
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
    hour,
    route: ({ livemode }, { to, category, from }) => route({ to, category, from, livemode }),
    trace({ livemode }, { category }) {
      const asked = livemode ? disturb.trace(circumstances.registries().dnd, category) : null;
      return asked === null ? [] : [asked];
    },
  };
}

function readCallback(of: Evaluation): Refusal | null {
  const { principal, asked } = of;
  if (asked.callbackUrl == null) return null;
  const read = callbackGate(principal, asked.callbackUrl);
  if (!read.ok) return read;
  of.callback = read.callback;
  return null;
}

function readTemplate(of: Evaluation, links: LinkRules | undefined): Refusal | null {
  const written = templateGate(of.principal, of.asked);
  if (written.ok) {
    of.templateId = written.templateId;
    return of.read(written.text, links);
  }
  // The request's own text is explained although no template gives it.
  if (of.asked.template == null) of.read(of.asked.message, links);
  return written;
}

function countSegments(of: Evaluation): Refusal | null {
  const counted = segmentsGate(of.request, of.nationalTables);
  if (!counted.ok) return counted;
  of.counted = counted;
  return null;
}

function senderNote({ principal: { livemode, account }, asked: { from } }: Evaluation): GateNote | null {
  if (livemode || account.senders.has(from)) return null;
  return { verdict: 'passed', detail: 'a test key needs no approval: a live key would be refused' };
}

function templateNote({ templateId }: Evaluation): GateNote | null {
  return templateId === null ? null : { verdict: 'passed', detail: `is a text of ${templateId}` };
}

function disturbNote(
  disturb: DoNotDisturb,
  circumstances: Circumstances,
  { principal: { livemode }, request: { category } }: Evaluation,
): GateNote {
  const { dnd } = circumstances.registries();
  if (!livemode) return notAsked('test messages reach nobody');
  if (!disturb.applies(category)) return notAsked(`the registry is not asked for ${category} messages`);
  return dnd === null
    ? notAsked('no registry was imported')
    : { verdict: 'passed', detail: disturb.trace(dnd, category) };
}

function hourNote({ principal, request, notBeforeMs }: Evaluation): GateNote | null {
  if (notBeforeMs === null) return principal.livemode ? null : notAsked('test messages have no quiet hours');
  const moment = new Date(notBeforeMs).toISOString();
  const detail = notBeforeMs === request.sendAtMs ? `waits until ${moment}, its send_at` : `waits until ${moment}`;
  return { verdict: 'held', detail };
}

/** Nobody was refused: the account can pay, or nothing was checked. */
function creditNote(credit: CreditCheck, { livemode }: Principal): GateNote | null {
  if (credit === nothingIsCharged) return notAsked('nothing is charged in this version');
  return livemode ? null : notAsked('test messages are not charged');
}

const notAsked = (detail: string): GateNote => ({ verdict: 'not_asked', detail });

function noRoute(why: string): Refusal {
  return { ok: false, code: 'no_route', field: 'to', detail: why };
}

const anyHour = { ok: true, notBeforeMs: null } as const;

/** Whether the account can pay for so many segments. It must answer from memory. */
export type CreditCheck = (principal: Principal, segments: number) => Refusal | null;

export const nothingIsCharged: CreditCheck = () => null;

export type AskRoute = (principal: Principal, request: SmsRequest) => Routed;

/**
 * One message on its way through the gates: the principal, the request, and what the gates have found so far. Gates
 * write to it in their order.
 */
export class Evaluation {
  readonly principal: Principal;
  /** As received. */
  readonly asked: SmsRequest;
  /** With the text the recipient will read. */
  request: SmsRequest;
  /** That text; null while, or because, no template gave one. */
  text: string | null = null;
  templateId: string | null = null;
  /** The targets of its short links, in order. */
  links: readonly string[] = [];
  #written = '';
  counted: SegmentCount | null = null;
  callback: MessageCallback | null = null;
  #notBeforeMs: number | null = null;
  readonly #askRoute: AskRoute;
  #routed: Routed | null = null;

  constructor(principal: Principal, asked: SmsRequest, askRoute: AskRoute) {
    this.principal = principal;
    this.asked = asked;
    this.request = asked;
    this.#askRoute = askRoute;
  }

  /** Null: it may be sent at once. */
  get notBeforeMs(): number | null {
    return this.#notBeforeMs;
  }

  /** Of several gates that hold a message the latest time counts. Null, here: this gate does not hold it. */
  holdUntil(ms: number | null): null {
    if (ms !== null) this.#notBeforeMs = Math.max(ms, this.#notBeforeMs ?? ms);
    return null;
  }

  /** Computed before the gate of that name, because the text's encoding depends on what the carriers support. */
  get routed(): Routed {
    this.#routed ??= this.#askRoute(this.principal, this.asked);
    return this.#routed;
  }

  /** The national tables to count the text with. Without a route nothing is sent: counted as any phone reads it. */
  get nationalTables(): readonly NationalLanguage[] {
    const { routed } = this;
    return 'why' in routed ? [] : routed.nationalTables;
  }

  /** The text with its links as they were written; else as the recipient will read it. */
  get written(): string {
    return this.links.length === 0 ? this.request.message : this.#written;
  }

  /** `source`: the request's text or its template's. Refuses links that cannot be tracked, and reads it all the same. */
  read(source: string, rules: LinkRules | undefined): Refusal | null {
    const shortened = this.asked.trackClicks === true ? this.#shorten(source, rules) : null;
    const isShort = shortened?.ok === true && shortened.links.length > 0;
    this.text = textToSend(isShort ? shortened.text : source, this.asked, this.nationalTables);
    if (isShort) {
      this.links = shortened.links;
      this.#written = textToSend(source, this.asked, this.nationalTables);
    }
    if (this.text !== this.asked.message) this.request = { ...this.asked, message: this.text };
    if (shortened?.ok === false) return shortened;
    return isShort ? refuseOwnPlaceholder(this.text, shortened.base, this.links, sourceOf(this.asked)('')) : null;
  }

  #shorten(source: string, rules: LinkRules | undefined): ShortenedText | Refusal {
    return shortenLinks(source, rules, this.principal.account.accountId ?? '', sourceOf(this.asked));
  }
}
