// Approved texts. A request may name a template and its variables, and the gate renders the text; where the account's
// category requires templates, a text of its own must match an approved one. The result is the message's text, so all
// later gates check what the recipient will read.
import type { Category } from '../../model/message.ts';
import type { Principal, ApprovedTemplate, Refusal, SmsRequest } from '../contract.ts';
import { lengthGate } from './text-gates.ts';
import { type CompiledTemplate, compileTemplate } from './template/template.ts';

export type TemplateVerdict =
  | { readonly ok: true; readonly text: string; readonly templateId: string | null }
  | Refusal;

/** Compiled when it is first needed; forgotten with the entry it came from. */
const compiled = new WeakMap<ApprovedTemplate, CompiledTemplate>();

export function templateGate(principal: Principal, request: SmsRequest): TemplateVerdict {
  const { account } = principal;
  const { template, category } = request;
  if (template != null) return rendered(account.templates?.find(template.id), template.variables, category);
  if (account.requireTemplate === undefined || !account.requireTemplate.includes(category)) {
    return { ok: true, text: request.message, templateId: null };
  }
  // Holding it against every template would take long, and it goes out in no case.
  const tooLong = lengthGate(principal, request);
  if (tooLong !== null) return tooLong;
  for (const approved of account.templates?.ofCategory(category) ?? []) {
    if (compiledOf(approved).matches(request.message)) {
      return { ok: true, text: request.message, templateId: approved.templateId };
    }
  }
  const detail = `must be a text of an approved ${category} template: this account demands one (GET /v1/templates)`;
  return { ok: false, code: 'template_mismatch', field: 'message', detail };
}

function rendered(
  approved: ApprovedTemplate | undefined,
  variables: Readonly<Record<string, unknown>>,
  category: Category,
): TemplateVerdict {
  if (approved === undefined) {
    return no('template_id', 'is not an approved template of this account (GET /v1/templates)');
  }
  if (approved.category !== category) {
    return no(
      'template_id',
      `is a template for ${approved.category} messages, and this one is ${category}: set category to "${approved.category}"`,
    );
  }
  const text = compiledOf(approved).render(variables);
  if (text.ok) return { ok: true, text: text.text, templateId: approved.templateId };
  const [first, ...others] = text.wrong;
  const refusal = no(`variables.${first.variable}`, first.detail);
  if (others.length === 0) return refusal;
  return { ...refusal, others: others.map(({ variable, detail }) => ({ field: `variables.${variable}`, detail })) };
}

function compiledOf(approved: ApprovedTemplate): CompiledTemplate {
  let found = compiled.get(approved);
  if (found === undefined) {
    found = compileTemplate(approved);
    compiled.set(approved, found);
  }
  return found;
}

function no(field: 'template_id' | `variables.${string}`, detail: string): Refusal {
  return { ok: false, code: 'template_mismatch', field, detail };
}
