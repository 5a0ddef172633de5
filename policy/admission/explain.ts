// Explains what would become of a message: the verdict of every gate in order (also after a refusal), the segments and
// what forced the encoding, the route candidates with reasons, and the earliest time it may be sent. It evaluates the
// same list of gates as `admission` (gates.ts), and stores nothing.
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
import { type CreditCheck, noCharge, noRegistries, type Gate, type GateNote, type Gates, gatesOf } from './gates.ts';
import { Evaluation } from './evaluation.ts';
import { type ExplainedText, explainText } from './explain-text.ts';
import { countText } from './text-gates.ts';

export type GateVerdict = {
  readonly gate: string;
  /** not_asked: nothing to check (no text, say), or no one to protect (a test key); `detail` says which. */
  readonly verdict: 'passed' | 'refused' | 'held' | 'not_asked';
  readonly code: RefusalCode | null;
  readonly field: Refusal['field'];
  readonly detail: string | null;
};

export type Explanation = {
  readonly wouldSend: boolean;
  readonly gates: readonly GateVerdict[];
  /** The text the recipient would read; null when a template gave none. */
  readonly text: string | null;
  /** The targets of its short links, in the order of their placeholders. */
  readonly links: readonly string[];
  /** Null when the text fits no requested encoding, or is far too long to be split. */
  readonly written: ExplainedText | null;
  /** In the order they are tried; empty when there is no route. */
  readonly routes: readonly RouteCandidate[];
  readonly excluded: readonly RouteCandidate[];
  /** Null when it may be sent to this recipient at no time. */
  readonly earliestAtMs: number | null;
};

export type Explain = (principal: Principal, request: SmsRequest, messageId: string) => Explanation;

export function explanation(
  rules: RoutingRules,
  circumstances: Circumstances = noRegistries,
  routing: RouterOptions = {},
  credit: CreditCheck = noCharge,
): Explain {
  const gates = gatesOf(rules, circumstances, routing, credit);
  const tablesByCarrier = new Map(rules.carriers.map(({ name, nationalTables }) => [name, nationalTables]));
  return (principal, asked, messageId) => {
    const evaluation = new Evaluation(principal, asked, gates.route);
    const verdicts = verdictsOf(gates.list, evaluation);
    const isRefused = (...names: string[]) =>
      verdicts.some(({ gate, verdict }) => verdict === 'refused' && names.includes(gate));
    const { request, text, links, routed, nationalTables } = evaluation;
    const plan = 'why' in routed || isRefused('recipient') ? null : routed.planFor(messageId);
    const isReachable = !isRefused('recipient', 'opt_out', 'do_not_disturb');
    return {
      wouldSend: verdicts.every(({ verdict }) => verdict !== 'refused'),
      gates: verdicts,
      text,
      links,
      written: writtenOf(request, text, nationalTables, whyNoTables(routed, plan?.candidates ?? [], tablesByCarrier)),
      routes: plan?.candidates ?? [],
      excluded: 'why' in routed || plan === null ? [] : routed.excluded,
      earliestAtMs: isReachable ? earliest(gates, principal, request, circumstances.nowMs()) : null,
    };
  };
}

/** Of every gate; one that needs what an earlier gate refused is skipped. */
function verdictsOf(gates: readonly Gate[], evaluation: Evaluation): readonly GateVerdict[] {
  const notPassed = new Set<string>();
  return gates.map((gate) => {
    const hasAll = gate.needs?.every((name) => !notPassed.has(name)) ?? true;
    const isAsked = hasAll && (gate.needsText !== true || evaluation.text !== null);
    const verdict = isAsked ? verdictOf(gate, evaluation) : nothingToAsk(gate.name);
    if (!isAsked || verdict.verdict === 'refused') notPassed.add(gate.name);
    return verdict;
  });
}

function verdictOf(gate: Gate, evaluation: Evaluation): GateVerdict {
  const dueBeforeMs = evaluation.notBeforeMs;
  const refusal = gate.refuse(evaluation);
  if (refusal !== null) return refused(gate.name, refusal);
  const { notBeforeMs } = evaluation;
  if (notBeforeMs !== null && notBeforeMs !== dueBeforeMs) return heldUntil(gate.name, notBeforeMs);
  return noted(gate.name, gate.note?.(evaluation) ?? passed);
}

/** A slightly too long text is split all the same, to show by how much it is too long. */
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

/** When it may be sent by the gates that hold messages, whatever the request says about quiet hours. */
function earliest({ list, route }: Gates, principal: Principal, request: SmsRequest, nowMs: number): number | null {
  const sendAtMs = request.sendAtMs != null && request.sendAtMs > nowMs ? request.sendAtMs : null;
  const again = new Evaluation(principal, { ...request, sendAtMs, quietHours: 'hold' }, route);
  const isRefused = list.some((gate) => gate.holds === true && gate.refuse(again) !== null);
  return isRefused ? null : (again.notBeforeMs ?? nowMs);
}

const passed: GateNote = { verdict: 'passed', detail: null };

function noted(gate: string, { verdict, detail }: GateNote): GateVerdict {
  return { gate, verdict, code: null, field: null, detail };
}

function heldUntil(gate: string, ms: number): GateVerdict {
  return { gate, verdict: 'held', code: null, field: null, detail: `waits until ${new Date(ms).toISOString()}` };
}

function refused(gate: string, { code, field, detail }: Refusal): GateVerdict {
  return { gate, verdict: 'refused', code, field, detail };
}

const nothingToAsk = (gate: string) =>
  noted(gate, { verdict: 'not_asked', detail: 'an earlier gate left nothing to ask' });
