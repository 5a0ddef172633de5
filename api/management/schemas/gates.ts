// The settings, templates and suppressed numbers of an account as JSON. Developers read the messages of the rules: they
// say what was expected.
import { z } from '@hono/zod-openapi';
import { networkProblem } from '../../../platform/ip-address.ts';
import type { Rate } from '../../../directory/contract.ts';
import { categories } from '../../../model/message.ts';
import { plainTextProblem } from '../../../model/plain-text.ts';
import { senderKindOf, senderShape } from '../../../model/sender.ts';
import { domainOf, wordsOf } from '../../../model/words-and-links.ts';
import { limits } from '../../../platform/limits.ts';
import { variableTypes } from '../../../policy/admission/template/variable-rules.ts';
import { pageQuery, timeSchema } from './common.ts';

/** For `superRefine`: what is wrong with a value; null: nothing. */
export const refusing = (wrongWith: (value: string) => string | null) => (value: string, context: z.RefinementCtx) => {
  const message = wrongWith(value);
  if (message !== null) context.addIssue({ code: 'custom', message });
};

/** `lines`: line feeds are allowed. */
export const text = (min: number, max: number, { lines = false }: { lines?: boolean } = {}) =>
  z
    .string({ error: 'expected a text' })
    .min(min, `expected ${min} to ${max} characters`)
    .max(max, `expected ${min} to ${max} characters`)
    .superRefine(refusing((value) => plainTextProblem(value, { lines })));
const listOfAtMost = <T extends z.ZodType>(item: T, max: number) =>
  z.array(item, { error: 'expected a list' }).max(max, `expected at most ${max} entries`);
const category = z.enum(categories, { error: `expected one of ${categories.join(', ')}` });

export const ipAllowlist = listOfAtMost(
  z.string({ error: networkProblem('') ?? '' }).superRefine(refusing(networkProblem)),
  limits.access.networksMax,
).openapi({ description: 'Networks (CIDR). Empty: from everywhere.', example: ['203.0.113.0/24'] });

const { requestsPerSecondMax, burstMax } = limits.access;
export const whole = (min: number, max: number) => {
  const error = `expected a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, error).max(max, error);
};
export const rateLimit = z
  .strictObject({ per_second: whole(1, requestsPerSecondMax), burst: whole(1, burstMax) })
  .nullable()
  .describe('Requests a second, and how many at once after a pause. null: no limit.');

export const rateShape = (rate: Rate | null) => rate && { per_second: rate.perSecond, burst: rate.burst };
export const rateOf = (shape: z.infer<typeof rateLimit>) =>
  shape && { perSecond: shape.per_second, burst: shape.burst };

const { wordsMax, wordCharsMax, wordsInPhraseMax, domainsMax, domainCharsMax } = limits.content;
const phrase = text(1, wordCharsMax).refine((value) => {
  // Runs even when the length was refused; splitting into words is slow for a very long text.
  if (value.length > wordCharsMax) return false;
  const { length } = wordsOf(value);
  return length > 0 && length <= wordsInPhraseMax;
}, `expected 1 to ${wordsInPhraseMax} words`);
const domain = text(1, domainCharsMax).refine(
  (value) => domainOf(value) !== null,
  'expected a domain such as example.com',
);

const yesNo = z.boolean({ error: 'expected true or false' });

const settings = {
  ip_allowlist: ipAllowlist,
  require_template: listOfAtMost(category, categories.length).describe(
    'Categories that accept only texts of approved templates.',
  ),
  content_rules: z
    .strictObject({
      words: listOfAtMost(phrase, wordsMax).describe('Words and phrases that block a text.'),
      links_denied: listOfAtMost(domain, domainsMax),
      links_allowed: listOfAtMost(domain, domainsMax).describe('When not empty, links to other domains are blocked.'),
    })
    .describe('What the account must not send. A domain includes its subdomains.'),
  inbound: z
    .strictObject({
      keep_text: yesNo.describe(
        'Whether the text of messages from subscribers is kept, encrypted, as long as their events.',
      ),
      help_text: text(1, limits.inbound.replyCharsMax, { lines: true })
        .nullable()
        .describe('The answer to HELP; null: the default of the country.'),
    })
    .describe('The handling of messages from subscribers. Both fields are required.'),
  resend_unknown: z.strictObject({ otp: yesNo, transactional: yesNo, promotional: yesNo }).openapi({
    description:
      'Categories whose messages are sent once more, within their validity, when it is unknown whether the carrier accepted them: the recipient may then get the message twice.',
    example: { otp: true, transactional: false, promotional: false },
  }),
};

export const accountSettings = z.object({
  ...settings,
  rate_limit: rateLimit,
  idempotency_keys_per_hour: z.int(),
  otp_short_codes: z.boolean().describe('Whether one-time passwords may have four or five digits.'),
});

export const changeAccountBody = z
  .strictObject({
    ip_allowlist: settings.ip_allowlist.optional(),
    require_template: settings.require_template.optional(),
    content_rules: settings.content_rules.optional(),
    resend_unknown: settings.resend_unknown.optional(),
    inbound: settings.inbound.optional(),
  })
  .openapi('ChangeAccount');

const { bodyCharsMax, variablesMax, textCharsMax } = limits.templates;
const variable = z.strictObject({
  name: z.string({ error: 'expected a name' }).regex(/^[a-z0-9_]{1,40}$/, 'expected 1 to 40 of a-z, 0-9 and _'),
  type: z.enum(variableTypes, { error: `expected one of ${variableTypes.join(', ')}` }),
  size: whole(1, textCharsMax)
    .nullish()
    .describe('text: maximum characters. code: exact number of digits. Not for other types.'),
});

const templateFields = {
  name: text(1, 100).openapi({ example: 'login code' }),
  category,
  body: text(1, bodyCharsMax, { lines: true }).openapi({ example: 'Your {{shop}} code is {{code}}.' }),
  variables: listOfAtMost(variable, variablesMax).openapi({
    example: [
      { name: 'shop', type: 'text', size: 20 },
      { name: 'code', type: 'code', size: 6 },
    ],
  }),
};

export const createTemplateBody = z.strictObject(templateFields).openapi('CreateTemplate');

export const template = z
  .object({
    id: z.string().openapi({ example: 'tpl_01K3Z8Q4T6W9XAB2CD3EF4GH5J' }),
    object: z.literal('template'),
    ...templateFields,
    status: z.enum(['pending', 'approved', 'rejected']),
    note: z.string().describe("The operator's word, such as why it was rejected."),
    created_at: timeSchema,
  })
  .openapi('Template');

export const templateQuery = pageQuery.extend({ status: z.enum(['pending', 'approved', 'rejected']).optional() });

const numberExpected = 'expected a number in E.164 form, such as +8801712345678';
const number = z.string({ error: numberExpected }).regex(/^\+[1-9][0-9]{6,14}$/, numberExpected);
const scope = {
  sender: z
    .string({ error: 'expected a sender' })
    .refine((value) => senderKindOf(value) !== null, `expected ${senderShape}`)
    .nullish()
    .describe('Only messages from this sender; omitted: every sender.'),
  category: category.nullish().describe('Only messages of this category; omitted: every category.'),
};
const reasons = ['opted_out', 'complaint', 'unreachable', 'manual'] as const;

export const addSuppressionBody = z
  .strictObject({
    number,
    ...scope,
    reason: z.enum(reasons, { error: `expected one of ${reasons.join(', ')}` }).default('manual'),
  })
  .openapi('AddSuppression');

export const importSuppressionsBody = z
  .strictObject({
    numbers: z
      .array(number, { error: 'expected a list of numbers' })
      .min(1, 'expected at least one number')
      .max(limits.suppression.importMax, `expected at most ${limits.suppression.importMax} numbers`),
    ...scope,
  })
  .openapi('ImportSuppressions');

export const importedSuppressions = z
  .object({ object: z.literal('suppression_import'), added: z.int(), already_listed: z.int() })
  .openapi('ImportedSuppressions');

export const suppression = z
  .object({
    id: z.string().openapi({ example: 'sup_01K3Z8Q4T6W9XAB2CD3EF4GH5J' }),
    object: z.literal('suppression'),
    number: z.string().nullable().describe('Null when the number was erased: the person stays suppressed.'),
    sender: z.string().nullable(),
    category: z.enum(categories).nullable(),
    reason: z.enum([...reasons, 'import', 'keyword']),
    created_at: timeSchema,
  })
  .openapi('Suppression');

export const suppressionQuery = pageQuery.extend({
  number: z
    .string()
    // An unescaped plus sign in a query arrives as a space.
    .transform((value) => value.replace(/^ /, '+'))
    .pipe(number)
    .optional()
    .openapi({ type: 'string', description: 'E.164, its plus sent as %2B.' } as object),
});
