// Explains what would become of a message: the verdict of every gate in order (also after a refusal), the segments
// and what forced the encoding, the route candidates with reasons, and the earliest time it may go out. It uses the
// gates of admit.ts and stores nothing.
import type { NationalLanguage } from '../../model/text/national-languages.ts';
import { limits } from '../../platform/limits.ts';
import type {
  Principal,
  Circumstances,
  Refusal,
  RefusalCode,
  RoutingRules,
  SmsRequest,
  RouteCandidate,
} from '../contract.ts';
import type { Routed, RouterOptions } from '../routing/route.ts';
import { nothingSpecial } from './admit.ts';
import { type CreditCheck, nothingIsCharged } from './credit-gate.ts';
import { type ExplainedText, explainText } from './explain-text.ts';
import { type Gate, type GateNote, type Gates, gatesOf, noRoute, tablesOf } from './gates.ts';
import { templateGate } from './template-gate.ts';
import { countText, segmentsGate, textToSend } from './text-gates.ts';

export type GateVerdict = {
  readonly gate: string;
  /** not_asked: there is nothing to ask about (no text, say), or nobody to protect (a test key); `detail` says which. */
  readonly verdict: 'passed' | 'refused' | 'held' | 'not_asked';
  readonly code: RefusalCode | null;
  readonly field: Refusal['field'];
  readonly detail: string | null;
};

export type Explanation = {
  readonly wouldSend: boolean;
  readonly gates: readonly GateVerdict[];
  /** The text as it would be read; null when a template gave none. */
  readonly text: string | null;
  /** Null when the text fits no encoding that was asked for, or is far too long to be cut. */
  readonly written: ExplainedText | null;
  /** In the order they are tried; empty when there is no route. */
  readonly routes: readonly RouteCandidate[];
  readonly excluded: readonly RouteCandidate[];
  /** Null when it may go to this recipient at no hour. */
  readonly earliestAtMs: number | null;
};

export type Explain = (principal: Principal, request: SmsRequest, messageId: string) => Explanation;

export function explanation(
  rules: RoutingRules,
  circumstances: Circumstances = nothingSpecial,
  routing: RouterOptions = {},
  credit: CreditCheck = nothingIsCharged,
): Explain {
  const gates = gatesOf(rules, circumstances, routing, credit);
  const tablesByCarrier = new Map(rules.carriers.map(({ name, nationalTables }) => [name, nationalTables]));
  return (principal, asked, messageId) => {
    const verdicts = gates.beforeText.map((gate) => verdictOf(gate, principal, asked));
    const isRefused = (...names: string[]) =>
      verdicts.some(({ gate, verdict }) => verdict === 'refused' && names.includes(gate));
    const template = templateGate(principal, asked);
    const matched = template.ok && template.templateId !== null ? `is a text of ${template.templateId}` : null;
    verdicts.push(template.ok ? passed('template', matched) : refused('template', template));
    // A text of the request's own is explained although no template gives it.
    const source = template.ok ? template.text : asked.message;
    const hasText = template.ok || asked.template == null;
    const routed = gates.route(principal, asked);
    const nationalTables = tablesOf(routed);
    const text = hasText ? textToSend(source, asked, nationalTables) : null;
    const request = text === null ? asked : { ...asked, message: text };

    const hasRecipient = !isRefused('recipient');
    // Nothing reads a text that is too long but the gate that says so.
    const isReadable = () => text !== null && !isRefused('length');
    for (const gate of gates.ofText) {
      verdicts.push(isReadable() ? verdictOf(gate, principal, request) : notAsked(gate.name));
    }
    const judged = isReadable() ? segmentsGate(request, nationalTables) : null;
    if (judged === null) verdicts.push(notAsked('segments'));
    else verdicts.push(judged.ok ? passed('segments') : refused('segments', judged));
    for (const gate of gates.afterCount) {
      const isAsked = gate.name === 'content_rules' ? judged?.ok === true : hasRecipient;
      verdicts.push(isAsked ? verdictOf(gate, principal, request) : notAsked(gate.name));
    }
    verdicts.push(isRefused('send_at') ? notAsked('quiet_hours') : hourVerdict(gates, principal, request));
    if (!hasRecipient) verdicts.push(notAsked('route'));
    else verdicts.push('why' in routed ? refused('route', noRoute(routed.why)) : passed('route'));
    const unpaid = judged?.ok ? gates.credit(principal, judged.segmentCount) : null;
    if (unpaid !== null) verdicts.push(refused('credit', unpaid));
    else verdicts.push(judged?.ok ? creditVerdict(credit, principal) : notAsked('credit'));

    const plan = 'why' in routed || !hasRecipient ? null : routed.planFor(messageId);
    const isReachable = !isRefused('recipient', 'opt_out', 'do_not_disturb');
    return {
      wouldSend: verdicts.every(({ verdict }) => verdict !== 'refused'),
      gates: verdicts,
      text,
      written: writtenOf(request, text, nationalTables, whyNoTables(routed, plan?.candidates ?? [], tablesByCarrier)),
      routes: plan?.candidates ?? [],
      excluded: 'why' in routed || plan === null ? [] : routed.excluded,
      earliestAtMs: isReachable ? earliest(gates, principal, request, circumstances.nowMs()) : null,
    };
  };
}

/** A text somewhat too long is cut all the same: how much too long it is, is what its writer asks. */
function writtenOf(
  request: SmsRequest,
  text: string | null,
  tables: readonly NationalLanguage[],
  whyNone: string,
): ExplainedText | null {
  if (text === null || text.length > limits.message.textUnitsMax * 2) return null;
  const counted = countText(request, tables);
  return counted.ok ? explainText(text, counted, request.encoding, tables, whyNone) : null;
}

function whyNoTables(
  routed: Routed,
  candidates: readonly RouteCandidate[],
  tablesByCarrier: ReadonlyMap<string, readonly NationalLanguage[]>,
): string {
  if ('why' in routed || candidates.length === 0) return 'without a route it is counted as any telephone reads it';
  const without = candidates.filter(({ carrier }) => (tablesByCarrier.get(carrier)?.length ?? 0) === 0);
  if (without.length === 0) return 'the carriers of the route have none in common';
  return `${without.map(({ carrier }) => carrier).join(', ')} of the route passes on none (national_tables)`;
}

/** When it may go out by the rules of its category, whatever it says itself of quiet hours. */
function earliest(gates: Gates, principal: Principal, request: SmsRequest, nowMs: number): number | null {
  const sendAtMs = request.sendAtMs != null && request.sendAtMs > nowMs ? request.sendAtMs : null;
  const hour = gates.hour(principal, { ...request, sendAtMs, quietHours: 'hold' });
  return hour.ok ? (hour.notBeforeMs ?? nowMs) : null;
}

function hourVerdict(gates: Gates, principal: Principal, request: SmsRequest): GateVerdict {
  const hour = gates.hour(principal, request);
  if (!hour.ok) return refused('quiet_hours', hour);
  const { notBeforeMs } = hour;
  if (notBeforeMs === null) {
    return principal.livemode
      ? passed('quiet_hours')
      : noted('quiet_hours', { verdict: 'not_asked', detail: 'test messages have no quiet hours' });
  }
  const moment = new Date(notBeforeMs).toISOString();
  const detail = notBeforeMs === request.sendAtMs ? `waits until ${moment}, its send_at` : `waits until ${moment}`;
  return { ...passed('quiet_hours', detail), verdict: 'held' };
}

/** Nobody was refused: because it can be paid, or because nobody asked. */
function creditVerdict(credit: CreditCheck, { livemode }: Principal): GateVerdict {
  if (credit === nothingIsCharged) {
    return noted('credit', { verdict: 'not_asked', detail: 'nothing is charged in this version' });
  }
  if (livemode) return passed('credit');
  return noted('credit', { verdict: 'not_asked', detail: 'test messages are not charged' });
}

function verdictOf(gate: Gate, principal: Principal, request: SmsRequest): GateVerdict {
  const refusal = gate.refuse(principal, request);
  if (refusal !== null) return refused(gate.name, refusal);
  const note = gate.note?.(principal, request) ?? null;
  return note === null ? passed(gate.name) : noted(gate.name, note);
}

const passed = (gate: string, detail: string | null = null): GateVerdict => noted(gate, { verdict: 'passed', detail });

function noted(gate: string, { verdict, detail }: GateNote): GateVerdict {
  return { gate, verdict, code: null, field: null, detail };
}

function refused(gate: string, { code, field, detail }: Refusal): GateVerdict {
  return { gate, verdict: 'refused', code, field, detail };
}

const notAsked = (gate: string) => noted(gate, { verdict: 'not_asked', detail: 'an earlier gate left nothing to ask' });
