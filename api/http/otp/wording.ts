// Makes the message of a start: its code, its sender and its text, from the request, the account and the texts of the
// installation. Refused here is what the schema cannot know.
import type { Principal } from '../../../acceptance/principal.ts';
import type { Account } from '../../../directory/contract.ts';
import { requestOf } from '../../../acceptance/otp/send.ts';
import { otpLength } from '../../../model/otp.ts';
import { aroundText, otpLanguage, otpText } from '../../../model/otp-text.ts';
import { segmentCapacity } from '../../../model/text/segment-capacity.ts';
import { newOtpCode } from '../../../policy/otp/code.ts';
import type { OtpRules } from '../../../policy/otp/contract.ts';
import type { Admitted, SmsRequest } from '../../../policy/contract.ts';
import { type OrProblem, type Problem, wrongField } from '../../problem.ts';
import { missingScope } from '../access.ts';
import type { StartOtpBody } from './otp-request.ts';

/** `language`: of the text; null for a template of the account. */
export type OtpMessage = { readonly request: SmsRequest; readonly code: string; readonly language: string | null };

export function messageOfOtp(
  principal: Principal,
  body: StartOtpBody,
  rules: OtpRules,
): OrProblem<{ readonly message: OtpMessage }> {
  const wrong = refuseTogether(principal, body) ?? refuseCode(principal, body);
  if (wrong !== null) return { ok: false, problem: wrong };
  const from = body.from ?? usualSender(principal);
  if (from === null) return { ok: false, problem: noUsualSender(principal) };
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

/** A code in two segments may arrive as half a text, and phones fill in none of it; no second carrier gets a copy either. */
export function refuseLength(body: StartOtpBody, { segments, encoding, shift }: Admitted): Problem | null {
  if (segments === 1) return null;
  const field = (['brand', 'domain', 'app_hash', 'template_id'] as const).find((each) => body[each] !== undefined);
  const { single } = segmentCapacity(encoding, shift);
  const room = `${single} characters of ${encoding === 'ucs2' ? 'UCS-2' : 'GSM-7'}`;
  const detail = `the text with its code takes ${segments} segments, and must fit one (${room}): ${shorten[field ?? 'language']}`;
  return wrongField(field ?? 'language', detail, 'message_too_long');
}

/** What makes the text shorter, by the field that made it long. */
const shorten = {
  brand: 'leave it out, or use a shorter one',
  domain: 'leave it out, or use a shorter text or host',
  app_hash: 'leave it out, or use a shorter text',
  template_id: 'use a shorter template, or POST /v1/sms with the category otp and a code of your own',
  language: 'use another language, or a shorter text in otp.texts',
} as const;

function refuseTogether({ account }: Principal, body: StartOtpBody): Problem | null {
  if (body.domain !== undefined && body.app_hash !== undefined)
    return wrongField('app_hash', 'must not be together with domain: both want the last line of the message');
  if (body.code !== undefined && body.length !== undefined)
    return wrongField('length', 'must be left out beside code: the code has its length');
  if (body.template_id === undefined) return null;
  if (body.language !== undefined)
    return wrongField('language', 'must be left out beside template_id: the template is the text');
  // Where the operator answers for every word, the host that a client names is none of the approved ones.
  const extra = (['domain', 'app_hash'] as const).find((field) => body[field] !== undefined);
  return extra === undefined || account.requireTemplate?.includes('otp') !== true
    ? null
    : wrongField(extra, 'must be left out: this account sends approved texts only, and no template has such a line');
}

function refuseCode(principal: Principal, { code, length }: StartOtpBody): Problem | null {
  if (code !== undefined) {
    const noScope = missingScope(principal, 'otp:custom_code');
    if (noScope !== null) return noScope;
  }
  const digits = code?.length ?? length ?? otpLength.usual;
  if (digits >= otpLength.withoutFlagMin || principal.account.otpShortCodes === true) return null;
  const detail = `must have at least ${otpLength.withoutFlagMin} digits: the operator allows an account shorter ones`;
  return wrongField(code === undefined ? 'length' : 'code', detail);
}

/** The one sender that the account may use for OTP; a test key, which reaches nobody, has one in any case. */
function usualSender({ account, livemode }: Principal): string | null {
  const own = sendersForOtp(account);
  if (own.length === 1 && own[0] !== undefined) return own[0];
  return livemode ? null : testSender;
}

const testSender = 'HELIOGRAPH';
const sendersShownMax = 3;

const sendersForOtp = ({ senders, senderCategories }: Account): string[] =>
  [...senders].filter((name) => senderCategories.get(name)?.includes('otp') ?? true);

function noUsualSender({ account }: Principal): Problem {
  const own = sendersForOtp(account);
  const more = own.length > sendersShownMax ? `, and ${own.length - sendersShownMax} more` : '';
  const detail =
    own.length === 0
      ? 'is required, and the account has no approved sender for OTP: POST /v1/senders registers one, GET /v1/senders lists them'
      : `is required: the account has ${own.length} approved senders for OTP (${own.slice(0, sendersShownMax).join(', ')}${more}), as GET /v1/senders lists them`;
  return wrongField('from', detail, 'missing_field');
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
