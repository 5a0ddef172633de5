// The account of the calling API key and the gate settings that it decides itself. The operator decides rates and
// quotas: they are shown but cannot be changed here. A change takes effect at every entry point within one second.
import type { z } from '@hono/zod-openapi';
import type { Account } from '../../../directory/contract.ts';
import {
  type AccountSettings,
  changeAccountSettings,
  readAccountSettings,
} from '../../../control/store/account-settings.ts';
import { findAccount } from '../../../control/store/accounts.ts';
import { categories } from '../../../model/message.ts';
import { limits } from '../../../platform/limits.ts';
import type { ContentRules } from '../../../policy/admission/content-rules.ts';
import { contentRulesGate } from '../../../policy/admission/text-gates.ts';
import { type Problem, problem, problemOfFields, wrongField } from '../../problem.ts';
import { type Endpoint, type HandlerResult, endpoint } from '../endpoint.ts';
import { accountSettings, changeAccountBody, rateShape } from '../schemas/gates.ts';
import { account as accountSchema } from '../schemas/tenants.ts';
import { locksOut } from './key-bounds.ts';

export const accountEndpoints: readonly Endpoint[] = [
  endpoint({
    method: 'get',
    path: '/v1/account',
    tag: 'Account',
    summary: 'The account of this key',
    scope: 'account:read',
    answer: { status: 200, description: 'The account.', schema: accountSchema },
    async handle({ parts: { store }, account: { accountId } }) {
      const found = await findAccount(store, accountId);
      if (found === null) return noAccount;
      const { id, name, status, createdAtMs } = found;
      return { body: { id, object: 'account', name, status, created_at: new Date(createdAtMs).toISOString() } };
    },
  }),
  endpoint({
    method: 'get',
    path: '/v1/account/settings',
    tag: 'Account',
    summary: 'The settings of this account',
    scope: 'account:read',
    answer: { status: 200, description: 'The settings.', schema: accountSettings },
    problems: ['not_found'],
    async handle({ parts: { store }, account }) {
      return answerOf(await readAccountSettings(store, account.accountId));
    },
  }),
  endpoint({
    method: 'patch',
    path: '/v1/account/settings',
    liveOnly: true,
    tag: 'Account',
    summary: 'Change networks, required templates, content rules, resends and the handling of subscribers’ messages',
    description: 'Omitted fields stay as they are; a list replaces the old one.',
    scope: 'account:manage',
    body: changeAccountBody,
    answer: { status: 200, description: 'The new settings.', schema: accountSettings },
    problems: ['not_found', 'content_blocked', 'template_mismatch'],
    async handle({ parts: { store, content: everywhere }, by, account, body, from }) {
      const { ip_allowlist: ipAllowlist, require_template: requireTemplate, content_rules: content } = body;
      const { resend_unknown: resend, inbound } = body;
      const refusal = problemOfFields(locksOut(from, ipAllowlist)) ?? helpTextProblem(account, body, everywhere());
      if (refusal !== null) return { problem: refusal };
      const change = {
        ipAllowlist,
        requireTemplate: requireTemplate && [...new Set(requireTemplate)],
        contentWords: content?.words,
        linksDenied: content?.links_denied,
        linksAllowed: content?.links_allowed,
        resendUnknown: resend && categories.filter((category) => resend[category]),
        keepInboundText: inbound?.keep_text,
        helpText: inbound?.help_text,
      };
      return answerOf(await changeAccountSettings(store, account.accountId, change, by));
    },
  }),
];

/** The answer to HELP must pass the gates like any message, by the account's settings after the change. */
function helpTextProblem(
  account: Account,
  { inbound, content_rules: rules, require_template: required }: z.infer<typeof changeAccountBody>,
  everywhere: ContentRules | undefined,
): Problem | null {
  const text = inbound?.help_text ?? null;
  if (text === null) return null;
  const field = 'inbound.help_text';
  if ((required ?? account.requireTemplate ?? []).includes('transactional')) {
    const detail = 'this category accepts approved templates only (`require_template`)';
    return wrongField(field, detail, 'template_mismatch');
  }
  const content =
    rules === undefined
      ? (account.content ?? null)
      : { words: rules.words, linksDenied: rules.links_denied, linksAllowed: rules.links_allowed };
  const refusal = contentRulesGate(everywhere)({ account: { content } }, text);
  return refusal === null ? null : wrongField(field, refusal.detail, refusal.code);
}

const noAccount = { problem: problem(404, 'not_found', 'the account no longer exists') };

function answerOf(settings: AccountSettings | null): HandlerResult {
  if (settings === null) return noAccount;
  return {
    body: {
      ip_allowlist: settings.ipAllowlist,
      require_template: settings.requireTemplate,
      content_rules: {
        words: settings.contentWords,
        links_denied: settings.linksDenied,
        links_allowed: settings.linksAllowed,
      },
      resend_unknown: Object.fromEntries(
        categories.map((category) => [category, settings.resendUnknown.includes(category)]),
      ),
      inbound: { keep_text: settings.keepInboundText, help_text: settings.helpText },
      rate_limit: rateShape(settings.rate),
      otp_short_codes: settings.otpShortCodes,
      idempotency_keys_per_hour: settings.idempotencyKeysPerHour ?? limits.idempotency.keysPerHourDefault,
    },
  };
}
