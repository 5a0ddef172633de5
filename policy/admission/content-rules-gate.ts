// Refuses words and links that this account, or the whole installation, does not send. The operator's lists come
// first: an account cannot allow what they forbid.
import type { Principal, Refusal } from '../contract.ts';
import { type ContentCheck, type ContentHit, type ContentRules, compileContentRules } from './content-rules.ts';

/** Compiled when first needed; null when the lists are empty. */
const compiled = new WeakMap<ContentRules, ContentCheck | null>();

type Asked = { readonly account: Pick<Principal['account'], 'content'> };

/** `everywhere`: the installation's lists, for every account. */
export function contentRulesGate(everywhere: ContentRules | undefined): (asked: Asked, text: string) => Refusal | null {
  const ofAll = everywhere === undefined ? null : compileContentRules(everywhere);
  return ({ account }, text) => {
    const hit = ofAll?.(text) ?? null;
    if (hit !== null) return no(hit, 'of this installation');
    if (account.content == null) return null;
    const own = checkOf(account.content)?.(text) ?? null;
    return own === null ? null : no(own, 'of this account');
  };
}

function checkOf(rules: ContentRules): ContentCheck | null {
  let check = compiled.get(rules);
  if (check === undefined) {
    check = compileContentRules(rules);
    compiled.set(rules, check);
  }
  return check;
}

function no({ kind, found }: ContentHit, whose: string): Refusal {
  const what = {
    word: `contains "${found}", which the content rules ${whose} block: write it otherwise`,
    link_denied: `links to ${found}, which the content rules ${whose} block: leave the link out`,
    link_not_allowed: `links to ${found}, which is not on the list of allowed links ${whose}: leave it out or have it added`,
  }[kind];
  return { ok: false, code: 'content_blocked', field: 'message', detail: what };
}
