// `dry_run: "explain"`: the answer that shows what would become of a message. Nothing is sent, nothing is stored, no
// idempotency key is used up and no refusal is recorded: it is a question.
import { newMessageId } from '../../model/ids.ts';
import type { Clock } from '../../platform/clock.ts';
import type { ExplainedText } from '../../policy/admission/explain-text.ts';
import type { Explain } from '../../policy/admission/explain.ts';
import type { SmsRequest } from '../../policy/contract.ts';
import type { Caller } from './bearer.ts';
import type { Exchange } from './exchange.ts';
import { problemOfRefusal } from './refusal-problem.ts';
import { ucs2Shape } from './sms-answer.ts';

export function explainSms(
  parts: { readonly explain: Explain; readonly clock: Clock },
  exchange: Exchange,
  caller: Caller,
  request: SmsRequest,
): void {
  const told = parts.explain(caller, request, newMessageId(parts.clock.nowMs()));
  // Whoever may not send learns nothing about numbers, senders or routes either.
  const stranger = told.gates.find(({ gate, verdict }) => verdict === 'refused' && gate === 'scope');
  if (stranger?.code != null) {
    const { code, field, detail } = stranger;
    return exchange.refuse(problemOfRefusal({ ok: false, code, field, detail: detail ?? '' }));
  }
  exchange.json(
    200,
    JSON.stringify({
      object: 'sms_explanation',
      would_send: told.wouldSend,
      to: request.to,
      from: request.from,
      category: request.category,
      livemode: caller.key.livemode,
      gates: told.gates,
      message: told.text,
      ...writtenShape(told.written),
      routes: told.routes,
      routes_left_out: told.leftOut,
      earliest_at: told.earliestAtMs === null ? null : new Date(told.earliestAtMs).toISOString(),
    }),
  );
}

function writtenShape(written: ExplainedText | null): object {
  if (written === null) return { encoding: null, segments: [], costly_characters: [], national_tables: null };
  return {
    encoding: written.encoding,
    segments: written.segments,
    costly_characters: written.costlyCharacters,
    ...(written.ucs2Because === null ? {} : { ucs2_because: ucs2Shape(written.ucs2Because) }),
    national_tables: written.nationalTables,
  };
}
