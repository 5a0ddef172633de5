// The body of POST /v1/sms and of each message of a batch as one table of fields: allowed values, OpenAPI schema and
// error detail. The check runs for every message; its details are texts for developers. It checks form and types;
// policy decides whether the message may be sent.
import { categories } from '../../model/message.ts';
import { momentOf, whyNoMoment } from '../../model/moment.ts';
import { limits } from '../../platform/limits.ts';
import type { SmsRequest } from '../../policy/contract.ts';
import { type FieldProblem, type OrProblem, problemOfFields } from '../problem.ts';
import { unknownNames } from '../unknown-names.ts';
import { parseObject } from '../json-object.ts';
import { isOneLine } from './one-line.ts';

/** `explain`: a dry run. */
type ParsedRequest = OrProblem<{ readonly request: SmsRequest; readonly explain: boolean }>;

type Field<T> = {
  takes(value: unknown): value is T;
  /** The error detail for a value that is not allowed. */
  detail(value: unknown): string;
  /** Its schema in the OpenAPI document. */
  readonly schema: object;
};

const { clientReferenceCharsMax, fieldProblemsMax } = limits.http;
const { segmentsMax, sendAtDaysMax, validityOtpMs, validityDefaultMs } = limits.message;
const { validitySecondsMin: secondsMin, validitySecondsMax: secondsMax } = limits.message;
/** Values of omitted fields. */
const defaults = {
  category: 'transactional',
  encoding: 'auto',
  transliterate: false,
  quietHours: 'hold',
  trackClicks: false,
} as const;

export const smsFields = {
  to: text('a number in E.164 form', { description: 'E.164 with the leading plus.', example: '+8801712345678' }),
  from: text('the sender', {
    description: 'An approved sender of the account; a test key may use any well-formed one.',
    example: 'HELIOGRAPH',
  }),
  message: text('the text', {
    // An empty text passes: a gate refuses it with a code of its own.
    minLength: 1,
    description: `The text, unless a template gives it: at most ${segmentsMax} segments.`,
    example: 'Your code is 493817',
  }),
  template_id: text('the id of a template', {
    description: 'An approved template of the account. It gives the text, so `message` is left out.',
    example: 'tpl_01K3Z8Q4T6W9XAB2CD3EF4GH5J',
  }),
  variables: {
    takes: (value): value is Record<string, unknown> =>
      typeof value === 'object' && value !== null && !Array.isArray(value),
    detail: (value) => `must be an object of the template's variables, found ${kindOf(value)}`,
    schema: {
      type: 'object',
      additionalProperties: {},
      description: 'A value for each variable of the template.',
      example: { code: '493817' },
    },
  },
  category: oneOf(categories, { default: defaults.category }),
  client_reference: {
    takes: (value): value is string | null =>
      value === null || (typeof value === 'string' && value.length <= clientReferenceCharsMax && isOneLine(value)),
    detail: () => `must be a string of at most ${clientReferenceCharsMax} characters without control characters`,
    schema: {
      type: ['string', 'null'],
      maxLength: clientReferenceCharsMax,
      description: 'Yours; returned wherever the message is shown.',
    },
  },
  validity_seconds: {
    takes: (value): value is number =>
      typeof value === 'number' && Number.isInteger(value) && value >= secondsMin && value <= secondsMax,
    detail: () => `must be a whole number from ${secondsMin} to ${secondsMax}`,
    schema: {
      type: 'integer',
      minimum: secondsMin,
      maximum: secondsMax,
      description:
        'How long it may still be submitted. ' +
        `Without it: ${validityOtpMs / 1_000} s for otp, ${validityDefaultMs / 1_000} s otherwise.`,
    },
  },
  encoding: oneOf(['auto', 'gsm7', 'ucs2'], { default: defaults.encoding }),
  transliterate: trueOrFalse({
    default: defaults.transliterate,
    description:
      'Write characters outside GSM-7 as look-alikes (“ as ", — as -, é stays, ő as o) where the whole text then ' +
      'fits GSM-7 and takes no more segments. Else the text stays as it is. No effect with encoding ucs2.',
  }),
  send_at: {
    takes: (value): value is string | null => value === null || (typeof value === 'string' && momentOf(value) !== null),
    detail: whyNoMoment,
    schema: {
      type: ['string', 'null'],
      format: 'date-time',
      description:
        `When it is to go out: a time with its offset, at most ${sendAtDaysMax} days ahead. Its validity ` +
        'counts from then. Until a quarter of a second before the second in which it is due it can be canceled.',
      example: '2026-01-31T09:00:00+06:00',
    },
  },
  quiet_hours: oneOf(['hold', 'reject'], {
    default: defaults.quietHours,
    description: 'What happens to a message that comes in quiet hours of its category.',
  }),
  track_clicks: trueOrFalse({
    default: defaults.trackClicks,
    description:
      `Replace each http(s) link of the text (at most ${limits.links.perMessageMax}) by a short one for this recipient, ` +
      'which leads there and counts its clicks. The text is counted with the short links.',
  }),
  callback_url: {
    takes: (value): value is string | null =>
      value === null || (typeof value === 'string' && value.length <= limits.webhooks.urlCharsMax),
    detail: (value) =>
      typeof value === 'string'
        ? `must have at most ${limits.webhooks.urlCharsMax} characters`
        : `must be a string with a URL, found ${kindOf(value)}`,
    schema: {
      type: ['string', 'null'],
      maxLength: limits.webhooks.urlCharsMax,
      description:
        "Where this message's events go, instead of the URL of the webhook endpoint with the same origin (scheme, host " +
        'and port): the account must have one, and its secret signs them. Other endpoints get them as always.',
      example: 'https://example.com/sms-events?order=1234',
    },
  },
  dry_run: {
    ...oneOf(['explain'], {
      description: 'Nothing is sent or stored: the answer is 200 and says what would become of the message, and why.',
    }),
    detail: () => 'must be "explain", or left out to send',
  },
} satisfies Record<string, Field<unknown>>;

type Body = { readonly [Name in keyof typeof smsFields]?: ValueOf<(typeof smsFields)[Name]> };
type ValueOf<F> = F extends Field<infer T> ? T : never;

/** Which fields exclude or need each other is only in their descriptions: client generators ignore such schemas. */
export const sendSmsSchema = {
  type: 'object',
  properties: Object.fromEntries(Object.entries(smsFields).map(([name, { schema }]) => [name, schema])),
  required: ['to', 'from'],
  additionalProperties: false,
} as const;

const fields = new Map<string, Field<unknown>>(Object.entries(smsFields));
const known = [...fields.keys()];

export function parseSmsRequest(body: Buffer): ParsedRequest {
  const parsed = parseObject(body);
  return parsed.ok ? smsRequestOf(parsed.fields) : parsed;
}

/** Checks one message's fields: a request, or one item of a batch. */
export function smsRequestOf(given: Record<string, unknown>): ParsedRequest {
  const errors: FieldProblem[] = [];
  let count = 0;
  const wrong = (field: string, code: FieldProblem['code'], detail: string) => {
    count += 1;
    if (errors.length < fieldProblemsMax) errors.push({ field, code, detail });
  };
  const unknown: string[] = [];
  for (const name of Object.keys(given)) {
    const field = fields.get(name);
    if (field === undefined) unknown.push(name);
    else if (!field.takes(given[name])) wrong(name, 'invalid_field', field.detail(given[name]));
  }
  // Safe: the table accepted every value, or there are errors.
  const body: Body = given;
  const { to, from, message, template_id: templateId, variables, send_at: sendAt } = body;
  const isTemplated = templateId !== undefined;
  if (to === undefined) wrong('to', 'missing_field', 'is required');
  if (from === undefined) wrong('from', 'missing_field', 'is required');
  if (message === undefined && !isTemplated)
    wrong('message', 'missing_field', 'is required, unless template_id names a template');
  if (message !== undefined && isTemplated)
    wrong('message', 'invalid_field', 'must be left out beside template_id: the template gives the text');
  if (variables !== undefined && !isTemplated)
    wrong('variables', 'invalid_field', 'must be left out without template_id');
  const names = unknownNames(unknown, known, 'is not a field of this request');
  const problem = problemOfFields([...names, ...errors], count + unknown.length);
  if (problem !== null) return { ok: false, problem };
  return {
    ok: true,
    request: {
      to: to as string,
      from: from as string,
      message: message ?? '',
      template: isTemplated ? { id: templateId, variables: variables ?? {} } : null,
      category: body.category ?? defaults.category,
      encoding: body.encoding ?? defaults.encoding,
      transliterate: body.transliterate ?? defaults.transliterate,
      clientReference: body.client_reference ?? null,
      validitySeconds: body.validity_seconds ?? null,
      sendAtMs: sendAt == null ? null : momentOf(sendAt),
      quietHours: body.quiet_hours ?? defaults.quietHours,
      trackClicks: body.track_clicks ?? defaults.trackClicks,
      callbackUrl: body.callback_url ?? null,
    },
    explain: body.dry_run !== undefined,
  };
}

function text(what: string, about: object): Field<string> {
  return {
    takes: (value) => typeof value === 'string',
    detail: (value) => `must be a string with ${what}, found ${kindOf(value)}`,
    schema: { type: 'string', ...about },
  };
}

function oneOf<const T extends string>(values: readonly T[], about: object): Field<T> {
  return {
    takes: (value): value is T => values.includes(value as T),
    detail: () => `must be one of ${values.join(', ')}`,
    schema: { type: 'string', enum: values, ...about },
  };
}

function trueOrFalse(about: object): Field<boolean> {
  return {
    takes: (value) => typeof value === 'boolean',
    detail: (value) => `must be true or false, found ${kindOf(value)}`,
    schema: { type: 'boolean', ...about },
  };
}

/** The type of a value for an error detail: `an array`. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object';
  return `a ${typeof value}`;
}
