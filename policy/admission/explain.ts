// What would become of a message, asked before it is sent: the verdict of every gate in its order (none is left out
// because an earlier one said no), the text cut into its segments with what forced the encoding, the carriers it could
// take with reasons, and the earliest moment it may go out. The gates are those of admit.ts; nothing is kept.
import { gsmAlphabet } from '../../model/text/gsm-alphabet.ts';
import { segmentDecided, type SegmentedText } from '../../model/text/segments.ts';
import type { Applicant, Circumstances, Refusal, RefusalCode, RoutingRules, SmsRequest, Way } from '../contract.ts';
import type { RouterOptions } from '../routing/route.ts';
import { nothingSpecial } from './admit.ts';
import { type CreditCheck, nothingIsCharged } from './credit-gate.ts';
import { gatesOf, noRoute, tablesOf } from './gates.ts';
import { templateGate } from './template-gate.ts';
import { segmentsGate, textToSend } from './text-gates.ts';

export type GateVerdict = {
  readonly gate: string;
  /** not_asked: an earlier gate left nothing to ask about (no text, say). */
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
  /** Null when the text fits no encoding that was asked for. */
  readonly encoding: 'gsm7' | 'ucs2' | null;
  readonly segments: readonly { readonly text: string; readonly units: number }[];
  /** Characters that take two units of a segment: they may cause one more. */
  readonly costlyCharacters: readonly string[];
  readonly ucs2Because: { readonly character: string; readonly index: number } | null;
  /** In the order they are tried; empty when there is no route. */
  readonly routes: readonly Way[];
  readonly leftOut: readonly Way[];
  /** Null when no gate ever lets it go. */
  readonly earliestAtMs: number | null;
};

export type Explain = (applicant: Applicant, request: SmsRequest, messageId: string) => Explanation;

export function explanation(
  rules: RoutingRules,
  circumstances: Circumstances = nothingSpecial,
  routing: RouterOptions = {},
  credit: CreditCheck = nothingIsCharged,
): Explain {
  const gates = gatesOf(rules, circumstances, routing, credit);
  return (applicant, asked, messageId) => {
    const verdicts = gates.beforeText.map(({ name, refuse }) => verdictOf(name, refuse(applicant, asked)));
    const written = templateGate(applicant, asked);
    verdicts.push(verdictOf('template', written.ok ? null : written));
    // A text of the request's own is explained although no template gives it.
    const source = written.ok ? written.text : asked.message;
    const hasText = written.ok || asked.template == null;
    const routed = gates.route(applicant, asked);
    const nationalTables = tablesOf(routed);
    const text = hasText ? textToSend(source, asked, nationalTables) : null;
    const request = text === null ? asked : { ...asked, message: text };

    for (const { name, refuse } of gates.ofText) {
      const isOfText = name === 'content' || name === 'content_rules';
      verdicts.push(text === null && isOfText ? notAsked(name) : verdictOf(name, refuse(applicant, request)));
    }
    const counted = text === null ? null : segmentsGate(request, nationalTables);
    verdicts.push(counted === null ? notAsked('segments') : verdictOf('segments', counted.ok ? null : counted));
    const hour = gates.hour(applicant, request);
    verdicts.push(hour.ok ? hourVerdict(hour.notBeforeMs) : verdictOf('quiet_hours', hour));
    const plan = 'why' in routed ? null : routed.planFor(messageId);
    verdicts.push(verdictOf('route', 'why' in routed ? noRoute(routed.why) : null));
    verdicts.push(
      counted?.ok ? verdictOf('credit', gates.credit(applicant, counted.segmentCount)) : notAsked('credit'),
    );

    const wouldSend = verdicts.every(({ verdict }) => verdict === 'passed' || verdict === 'held');
    const cut = text !== null && counted?.ok ? segmentDecided(text, counted.encoding, counted.shift) : null;
    return {
      wouldSend,
      gates: verdicts,
      text,
      encoding: counted?.ok ? counted.encoding : null,
      segments: cut?.ok ? cut.segments.map((each) => ({ text: each.text, units: each.unitCount })) : [],
      costlyCharacters: cut?.ok ? costlyIn(text ?? '', cut) : [],
      ucs2Because: counted?.ok ? counted.forcedBy : null,
      routes: plan?.ways ?? [],
      leftOut: 'why' in routed ? [] : routed.leftOut,
      earliestAtMs: hour.ok ? (hour.notBeforeMs ?? circumstances.nowMs()) : null,
    };
  };
}

/** Behind the escape of GSM-7, or a surrogate pair of UCS-2. */
function costlyIn(text: string, { encoding, shift }: SegmentedText): readonly string[] {
  const characters = [...new Set(text)];
  if (encoding === 'ucs2') return characters.filter((character) => character.length === 2);
  const { counts } = gsmAlphabet(shift);
  return characters.filter((character) => counts[character.charCodeAt(0)] === 2);
}

function verdictOf(gate: string, refusal: Refusal | null): GateVerdict {
  if (refusal === null) return { gate, verdict: 'passed', code: null, field: null, detail: null };
  const { code, field, detail } = refusal;
  return { gate, verdict: 'refused', code, field, detail };
}

function hourVerdict(notBeforeMs: number | null): GateVerdict {
  if (notBeforeMs === null) return verdictOf('quiet_hours', null);
  const detail = `waits until ${new Date(notBeforeMs).toISOString()}`;
  return { gate: 'quiet_hours', verdict: 'held', code: null, field: null, detail };
}

const notAsked = (gate: string): GateVerdict => ({ gate, verdict: 'not_asked', code: null, field: null, detail: null });
