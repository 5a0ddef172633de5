// What gates refuse, in the fields of the one-time password routes: gates know those of POST /v1/sms, whose text,
// variables and category a client of these routes has never sent.
import type { Account, TemplateEntry } from '../../../directory/contract.ts';
import { otpLength } from '../../../model/otp.ts';
import { wordsOf } from '../../../model/words-and-links.ts';
import { limits } from '../../../platform/limits.ts';
import type { ContentHit } from '../../../policy/admission/content-rules.ts';
import type { Refusal } from '../../../policy/contract.ts';
import { type FieldProblem, type Problem, problemOfFields, problemOfRefusal } from '../../problem.ts';
import type { StartOtpBody } from './otp-bodies.ts';

export function problemOfStart(refused: Refusal, { templates }: Account, body: StartOtpBody): Problem {
  const template = body.template_id === undefined ? undefined : templates.find(body.template_id);
  const ofTemplate =
    refused.code === 'template_mismatch' && template !== undefined
      ? problemOfFields(wrongWithTemplate(template, body))
      : null;
  return ofTemplate ?? problemOfRefusal({ ...refused, ...inFieldsOf(body, refused), others: [], othersNotNamed: 0 });
}

/** A resend and its cancel have no fields: what is wrong was in the start, or has changed since. */
export function problemOfResend(refused: Refusal): Problem {
  const { field, detail } = refused;
  const of = field === 'message' ? 'the text' : field === null ? null : `\`${field}\` of the start`;
  return problemOfRefusal({
    ...refused,
    field: null,
    detail: of === null ? detail : `${of} ${detail}`,
    others: [],
    othersNotNamed: 0,
  });
}

/** What a client can change so that the template has a text for its code. */
function* findWrong({ category, variables }: TemplateEntry, body: StartOtpBody): Iterable<[string, string]> {
  if (category !== 'otp') {
    yield ['template_id', `is a template for ${category} messages: a one-time password needs one of category otp`];
    return;
  }
  const code = variables.find(({ name }) => name === 'code');
  if (code === undefined) {
    yield ['template_id', 'is a template without a variable code: there is no place for the one-time password'];
    return;
  }
  const others = variables.filter(({ name }) => name !== 'code' && name !== 'brand').map(({ name }) => name);
  if (others.length > 0) {
    const hint = 'a one-time password has values for code and brand only (POST /v1/sms has variables)';
    yield ['template_id', `needs the variables ${others.join(', ')}: ${hint}`];
  }
  if (code.type === 'code') yield* wrongLength(code.size ?? limits.templates.codeDigitsDefault, body);
  const isDeclared = variables.some(({ name }) => name === 'brand');
  if (isDeclared && body.brand === undefined) yield ['brand', 'is required by this template'];
  if (!isDeclared && body.brand !== undefined) yield ['brand', 'is not a variable of this template: leave it out'];
}

function* wrongLength(digits: number, { code, length = otpLength.usual }: StartOtpBody): Iterable<[string, string]> {
  if (code === undefined && length !== digits)
    yield ['length', `must be ${digits}: the variable code of the template has ${digits} digits`];
  if (code !== undefined && code.length !== digits)
    yield ['code', `must have ${digits} digits, as the variable code of the template`];
}

function wrongWithTemplate(template: TemplateEntry, body: StartOtpBody): FieldProblem[] {
  return [...findWrong(template, body)].map(([field, detail]) => ({ field, code: 'template_mismatch', detail }));
}

type Wrong = { readonly field: string | null; readonly detail: string };

function inFieldsOf(body: StartOtpBody, { field, detail, code, found }: Refusal): Wrong {
  switch (field) {
    case 'variables.brand':
      return { field: 'brand', detail };
    case 'variables.code':
      return { field: body.code === undefined ? 'length' : 'code', detail: `is of a code that ${detail}` };
    case 'category':
    case 'quiet_hours':
      // Whatever the fields of a start are, no code is sent at this hour.
      return { field: null, detail: `no one-time password is sent now: it ${detail}` };
    case 'message':
      if (code === 'template_mismatch') return { field: 'template_id', detail: needsTemplate };
      return { field: fieldOfText(body, found), detail };
    default:
      return { field, detail };
  }
}

const needsTemplate =
  'is required: this account sends one-time passwords in texts of approved templates only (GET /v1/templates)';

/** The field that brought what a rule about texts has found; without a `hit` it is about the text as a whole. */
function fieldOfText(body: StartOtpBody, hit: ContentHit | undefined): string {
  const { domain, template_id: templateId } = body;
  if (hit?.kind === 'word') {
    const { found } = hit;
    const field = (['brand', 'domain', 'app_hash'] as const).find((each) => hasWords(body[each] ?? '', found));
    if (field !== undefined) return field;
  } else if (hit !== undefined && hit.found === domain) {
    return 'domain';
  }
  return templateId === undefined ? 'language' : 'template_id';
}

const hasWords = (text: string, words: string) =>
  ` ${wordsOf(text).join(' ')} `.includes(` ${wordsOf(words).join(' ')} `);
