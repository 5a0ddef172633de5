// The gates about the text: it is of an approved template where one is named or required, is not empty, holds no
// character that networks change and no blocked word or link, and has few enough segments. The template's result is the
// message's text, so all later gates check what the recipient will read. U+0000 and unpaired surrogates are refused:
// phones end a text at the first and show the second as garbage, and carriers change both.
import { type ContentCheck, type ContentHit, type ContentRules, compileContentRules } from './content-rules.ts';
import { isBlank } from '../../model/plain-text.ts';
import type { NationalLanguage } from '../../model/text/national-languages.ts';
import { type EncodingMismatch, type SegmentCount, countSegments } from '../../model/text/segment-count.ts';
import { segmentUnits } from '../../model/text/segment-capacity.ts';
import { transliterate, writeInGsm } from '../../model/text/transliterate.ts';
import { limits } from '../../platform/limits.ts';
import { perObject } from '../../platform/per-object.ts';
import type { ApprovedTemplate, Principal, Refusal, SmsRequest, SmsTemplate } from '../contract.ts';
import type { Category } from '../../model/message.ts';
import { type CompiledTemplate, compileTemplate } from './template/template.ts';

const { segmentsMax, textUnitsMax } = limits.message;

/**
 * The text the recipient will read: with `transliterate`, in GSM-7 where all of it can be written so. Computed before
 * the text gates, because a forbidden word in look-alikes becomes the word itself.
 */
export function textToSend(
  text: string,
  { transliterate: isAllowed, encoding }: SmsRequest,
  nationalTables: readonly NationalLanguage[],
): string {
  if (!isAllowed || text.length > textUnitsMax) return text;
  return writeInGsm(text, encoding, nationalTables).text;
}

/**
 * The first gate of a text: later ones may read the text as often as they need. No text of more UTF-16 units fits into
 * a message in either encoding.
 */
export function lengthGate(_principal: Principal, { message: { length } }: SmsRequest): Refusal | null {
  return length > textUnitsMax ? no('message_too_long', tooLong(`has ${length} characters`)) : null;
}

export function contentGate(_principal: Principal, request: SmsRequest): Refusal | null {
  const { message } = request;
  if (isBlank(message)) return no('message_empty', 'must contain at least one character that can be seen');
  if (message.includes('\u0000')) return no('invalid_field', 'must not contain the character U+0000: remove it');
  if (!message.isWellFormed()) {
    return no('invalid_field', 'contains half of a surrogate pair: cut texts at whole characters');
  }
  return null;
}

/**
 * `request` has a text of textToSend that is not too long; the tables are those that all carriers of its route support.
 */
export function segmentsGate(request: SmsRequest, nationalTables: readonly NationalLanguage[]): SegmentCount | Refusal {
  const counted = countText(request, nationalTables);
  if (!counted.ok) return no('encoding_mismatch', foreignCharacter(counted.character, counted.index));
  if (counted.segmentCount <= segmentsMax) return counted;
  return no('message_too_long', tooLong(`takes ${counted.segmentCount} segments of ${counted.encoding}`));
}

/** With transliteration, the character reported is one that it cannot replace. */
export function countText(
  { message, encoding, transliterate: isAllowed }: SmsRequest,
  nationalTables: readonly NationalLanguage[],
): SegmentCount | EncodingMismatch {
  return isAllowed
    ? writeInGsm(message, encoding, nationalTables).counted
    : countSegments(message, encoding, nationalTables);
}

const roomMax = `${segmentsMax} segments, which are ${textUnitsMax} characters of GSM-7 or ${segmentsMax * segmentUnits.ucs2.multi8} of UCS-2`;
const tooLong = (found: string) => `${found}, at most ${roomMax}, are allowed: shorten it`;

function foreignCharacter(character: string, index: number): string {
  const point = (character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0');
  const found = `"${character}" (U+${point}, position ${index}) is not in GSM-7`;
  const alternative = transliterate(character) === character ? '' : 'set transliterate to true, ';
  return `${found}: ${alternative}remove it or use encoding "auto"`;
}

function no(
  code: 'message_empty' | 'message_too_long' | 'encoding_mismatch' | 'invalid_field',
  detail: string,
): Refusal {
  return { ok: false, code, field: 'message', detail };
}

export type TemplateVerdict =
  | { readonly ok: true; readonly text: string; readonly templateId: string | null }
  | Refusal;

/** Compiled when first needed; collected with its entry. */
const compiledOf = perObject<ApprovedTemplate, CompiledTemplate>(compileTemplate);

/** A request may name a template; where its category requires one, a text of its own must match one. */
export function templateGate(principal: Principal, request: SmsRequest): TemplateVerdict {
  const { account } = principal;
  const { template, category } = request;
  if (template != null) return rendered(account.templates?.find(template.id), template, category);
  if (account.requireTemplate === undefined || !account.requireTemplate.includes(category)) {
    return { ok: true, text: request.message, templateId: null };
  }
  // Matching it against every template would take long, and it is refused in any case.
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
  { variables, before = '', after = '' }: SmsTemplate,
  category: Category,
): TemplateVerdict {
  if (approved === undefined) {
    return noTemplate('template_id', 'is not an approved template of this account (GET /v1/templates)');
  }
  if (approved.category !== category) {
    return noTemplate(
      'template_id',
      `is a template for ${approved.category} messages, and this one is ${category}: set category to "${approved.category}"`,
    );
  }
  const text = compiledOf(approved).render(variables);
  if (text.ok) return { ok: true, text: `${before}${text.text}${after}`, templateId: approved.templateId };
  const [first, ...others] = text.wrong;
  const refusal = noTemplate(`variables.${first.variable}`, first.detail);
  if (others.length === 0) return refusal;
  return {
    ...refusal,
    others: others.map(({ variable, detail }) => ({ field: `variables.${variable}`, detail })),
    ...(text.notNamed > 0 ? { othersNotNamed: text.notNamed } : {}),
  };
}

function noTemplate(field: 'template_id' | `variables.${string}`, detail: string): Refusal {
  return { ok: false, code: 'template_mismatch', field, detail };
}

/** Compiled when first needed; null when the lists are empty. */
const checkOf = perObject<ContentRules, ContentCheck | null>(compileContentRules);

type Asked = { readonly account: Pick<Principal['account'], 'content'> };

/**
 * Words and links that this account, or the whole installation, does not send. `everywhere`: the installation's lists,
 * checked first: an account cannot allow what they forbid.
 */
export function contentRulesGate(everywhere: ContentRules | undefined): (asked: Asked, text: string) => Refusal | null {
  const ofAll = everywhere === undefined ? null : compileContentRules(everywhere);
  return ({ account }, text) => {
    const hit = ofAll?.(text) ?? null;
    if (hit !== null) return blocked(hit, 'of this installation');
    if (account.content == null) return null;
    const own = checkOf(account.content)?.(text) ?? null;
    return own === null ? null : blocked(own, 'of this account');
  };
}

function blocked(hit: ContentHit, whose: string): Refusal {
  const { kind, found } = hit;
  const what = {
    word: `contains "${found}", which the content rules ${whose} block: write it otherwise`,
    link_denied: `links to ${found}, which the content rules ${whose} block: leave the link out`,
    link_not_allowed: `links to ${found}, which is not on the list of allowed links ${whose}: leave it out or have it added`,
  }[kind];
  return { ok: false, code: 'content_blocked', field: 'message', detail: what, found: hit };
}
