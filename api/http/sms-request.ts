// Parses a request body into an SmsRequest, or lists everything that is wrong, by field. Written by hand because it
// runs for every message and its refusals are texts for developers. It checks form and types; whether the message may
// be sent is decided by policy.
import { type Category, categories } from '../../model/message.ts';
import { momentOf, whyNoMoment } from '../../model/moment.ts';
import { limits } from '../../platform/limits.ts';
import type { SmsRequest } from '../../policy/contract.ts';
import { type FieldProblem, type Problem, problemOfFields } from '../problem.ts';
import { parseObject } from '../json-object.ts';

export type ParsedRequest =
  /** `explain`: only what would become of it is asked. */
  | { readonly ok: true; readonly request: SmsRequest; readonly explain: boolean }
  | { readonly ok: false; readonly problem: Problem };

const { clientReferenceCharsMax, fieldProblemsMax } = limits.http;
const { validitySecondsMin, validitySecondsMax } = limits.message;

/** Fields of the contract that this version does not have. They are refused, because ignoring one would be a lie. */
const notYet: ReadonlySet<string> = new Set(['callback_url', 'track_clicks']);
const known =
  'to, from, message, template_id, variables, category, client_reference, validity_seconds, encoding, transliterate, send_at, quiet_hours, dry_run';
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const printable = /^[^\u0000-\u001f\u007f]*$/;

export function parseSmsRequest(body: Buffer): ParsedRequest {
  const parsed = parseObject(body);
  return parsed.ok ? smsRequestOf(parsed.fields) : parsed;
}

/** One message's fields: of a request of its own, or of one item of a batch. */
export function smsRequestOf(fields: Record<string, unknown>): ParsedRequest {
  const errors: FieldProblem[] = [];
  const wrong = (field: string, code: FieldProblem['code'], detail: string) => {
    if (errors.length < fieldProblemsMax) errors.push({ field, code, detail });
  };
  let to: string | null = null;
  let from: string | null = null;
  let message: string | null = null;
  let templateId: string | null = null;
  let variables: Record<string, unknown> | null = null;
  let category: Category = 'transactional';
  let clientReference: string | null = null;
  let validitySeconds: number | null = null;
  let encoding: SmsRequest['encoding'] = 'auto';
  let transliterate = false;
  let quietHours: SmsRequest['quietHours'] = 'hold';
  let sendAtMs: number | null = null;
  let explain = false;

  for (const field of Object.keys(fields)) {
    const value = fields[field];
    switch (field) {
      case 'to':
        if (typeof value === 'string') to = value;
        else wrong(field, 'invalid_field', `must be a string with a number in E.164 form, found ${kindOf(value)}`);
        break;
      case 'from':
        if (typeof value === 'string') from = value;
        else wrong(field, 'invalid_field', `must be a string with the sender, found ${kindOf(value)}`);
        break;
      case 'message':
        if (typeof value === 'string') message = value;
        else wrong(field, 'invalid_field', `must be a string with the text, found ${kindOf(value)}`);
        break;
      case 'template_id':
        if (typeof value === 'string') templateId = value;
        else wrong(field, 'invalid_field', `must be a string with the id of a template, found ${kindOf(value)}`);
        break;
      case 'variables':
        if (typeof value === 'object' && value !== null && !Array.isArray(value))
          variables = value as Record<string, unknown>;
        else wrong(field, 'invalid_field', `must be an object of the template's variables, found ${kindOf(value)}`);
        break;
      case 'category':
        if (categories.includes(value as Category)) category = value as Category;
        else wrong(field, 'invalid_field', `must be one of ${categories.join(', ')}`);
        break;
      case 'client_reference':
        if (value === null || isReference(value)) clientReference = value;
        else
          wrong(
            field,
            'invalid_field',
            `must be a string of at most ${clientReferenceCharsMax} characters without control characters`,
          );
        break;
      case 'validity_seconds':
        if (isValidity(value)) validitySeconds = value;
        else
          wrong(field, 'invalid_field', `must be a whole number from ${validitySecondsMin} to ${validitySecondsMax}`);
        break;
      case 'encoding':
        if (value === 'auto' || value === 'gsm7' || value === 'ucs2') encoding = value;
        else wrong(field, 'invalid_field', 'must be one of auto, gsm7, ucs2');
        break;
      case 'transliterate':
        if (typeof value === 'boolean') transliterate = value;
        else wrong(field, 'invalid_field', `must be true or false, found ${kindOf(value)}`);
        break;
      case 'quiet_hours':
        if (value === 'hold' || value === 'reject') quietHours = value;
        else wrong(field, 'invalid_field', 'must be one of hold, reject');
        break;
      case 'send_at':
        sendAtMs = typeof value === 'string' ? momentOf(value) : null;
        if (sendAtMs === null && value !== null) wrong(field, 'invalid_field', whyNoMoment(value));
        break;
      case 'dry_run':
        if (value === 'explain') explain = true;
        else wrong(field, 'invalid_field', 'must be "explain", or left out to send');
        break;
      default:
        if (notYet.has(field)) wrong(field, 'not_available', 'is not available in this version: leave it out');
        else
          wrong(
            field.slice(0, 64).toWellFormed(),
            'unknown_field',
            `is not a field of this request; known are ${known}`,
          );
    }
  }
  const isTemplated = Object.hasOwn(fields, 'template_id');
  for (const field of isTemplated ? ['to', 'from'] : ['to', 'from', 'message']) {
    const unless = field === 'message' ? ', unless template_id names a template' : '';
    if (!Object.hasOwn(fields, field)) wrong(field, 'missing_field', `is required${unless}`);
  }
  if (isTemplated && Object.hasOwn(fields, 'message')) {
    wrong('message', 'invalid_field', 'must be left out beside template_id: the template gives the text');
  }
  if (!isTemplated && Object.hasOwn(fields, 'variables')) {
    wrong('variables', 'invalid_field', 'must be left out without template_id');
  }
  const [first, ...more] = errors;
  if (first !== undefined) return { ok: false, problem: problemOfFields(422, [first, ...more]) };
  return {
    ok: true,
    request: {
      to: to as string,
      from: from as string,
      message: message ?? '',
      template: templateId === null ? null : { id: templateId, variables: variables ?? {} },
      category,
      encoding,
      transliterate,
      clientReference,
      validitySeconds,
      sendAtMs,
      quietHours,
    },
    explain,
  };
}
function isReference(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length <= clientReferenceCharsMax &&
    printable.test(value) &&
    value.isWellFormed()
  );
}

function isValidity(value: unknown): value is number {
  return (
    typeof value === 'number' && Number.isInteger(value) && value >= validitySecondsMin && value <= validitySecondsMax
  );
}

/** What replaces something else, for people. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object';
  return `a ${typeof value}`;
}
