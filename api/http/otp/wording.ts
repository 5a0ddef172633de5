// Makes the message of a start: its code, its sender and its text, from the request, the account and the texts of the
// installation.
import type { Principal } from '../../../acceptance/principal.ts';
import type { Account } from '../../../directory/contract.ts';
import { requestOf } from '../../../acceptance/otp/send.ts';
import { otpLength } from '../../../model/otp.ts';
import { aroundText, otpLanguage, otpText } from '../../../model/otp-text.ts';
import { newOtpCode } from '../../../policy/otp/code.ts';
import type { OtpRules } from '../../../policy/otp/contract.ts';
import type { SmsRequest } from '../../../policy/contract.ts';
import { type OrProblem, wrongField } from '../../problem.ts';
import type { StartOtpBody } from './otp-bodies.ts';
import { usualSender } from './otp-sender.ts';
import { refuseFields } from './start-fields.ts';

/** `language`: of the text; null for a template of the account. */
export type OtpMessage = { readonly request: SmsRequest; readonly code: string; readonly language: string | null };

export function messageOfOtp(
  principal: Principal,
  body: StartOtpBody,
  rules: OtpRules,
): OrProblem<{ readonly message: OtpMessage }> {
  const wrong = refuseFields(principal, body);
  if (wrong !== null) return { ok: false, problem: wrong };
  const sender = body.from === undefined ? usualSender(principal) : ({ ok: true, from: body.from } as const);
  if (!sender.ok) return sender;
  const { from } = sender;
  const code = body.code ?? newOtpCode(body.length ?? otpLength.usual);
  const reference = body.client_reference ?? null;
  const { to, template_id: templateId } = body;
  const { brand = null, domain = null, app_hash: appHash = null } = body;
  if (templateId !== undefined) {
    const variables = variablesOf(principal.account, templateId, body, code);
    const template = { id: templateId, variables, ...aroundText({ domain, appHash }, code) };
    const request = { ...requestOf({ to, from, message: '', reference }), template };
    return { ok: true, message: { request, code, language: null } };
  }
  const language = otpLanguage(rules.texts, body.language ?? rules.language);
  if (language === null) {
    const known = Object.keys(rules.texts).join(', ');
    return { ok: false, problem: wrongField('language', `there is no text in this language; there are ${known}`) };
  }
  const message = otpText(rules.texts, { language, brand, domain, appHash }, code);
  return { ok: true, message: { request: requestOf({ to, from, message, reference }), code, language } };
}

/** `code`, and `brand` where it was given; a template with other variables is refused by its gate. */
function variablesOf(
  { templates }: Account,
  templateId: string,
  { brand }: StartOtpBody,
  code: string,
): Record<string, unknown> {
  const declared = templates.find(templateId)?.variables ?? [];
  const isDeclared = (name: string) => declared.some((each) => each.name === name);
  return { code, ...(brand !== undefined || isDeclared('brand') ? { brand } : {}) };
}
