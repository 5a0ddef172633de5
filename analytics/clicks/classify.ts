// What a click probably was, with every reason: nothing is dropped, so that a report can judge otherwise. One strong
// sign decides; weak signs are shared by people (a receipt that comes late, many subscribers behind one address of their
// carrier), so one makes a click `unknown` and two make it a scanner's. Pure.
import type { ClickClass } from '../../model/click-class.ts';
import type { UserAgentKind } from './user-agents.ts';

export type ClickReason =
  /** It asked for the headers only. */
  | 'head'
  /** Its headers say that it was fetched ahead of a use. */
  | 'prefetch'
  /** Its User-Agent is of an app that shows previews, or of another program. */
  | 'previewer'
  | 'bot'
  | 'no_user_agent'
  /** Browsers say which languages they prefer. */
  | 'no_language'
  | 'before_receipt'
  /** Sooner after the receipt than a person taps. */
  | 'soon_after_receipt'
  /** Links of many messages from one address within seconds. */
  | 'burst'
  /** Its code was never sent. */
  | 'not_sent';

export type ClickSigns = {
  readonly isHead: boolean;
  readonly isPrefetch: boolean;
  readonly hasLanguage: boolean;
  readonly userAgent: UserAgentKind;
  /** From the receipt to the click. No receipt: none is to come. */
  readonly afterReceiptMs: number | 'before it' | 'no receipt';
  readonly isBurst: boolean;
  readonly isSent: boolean;
};

export type ClickVerdict = { readonly class: ClickClass; readonly reasons: readonly ClickReason[] };

const strong: Readonly<Partial<Record<ClickReason, ClickClass>>> = {
  // A previewer that asks for headers is a previewer.
  previewer: 'preview',
  prefetch: 'preview',
  bot: 'scanner',
  head: 'scanner',
  not_sent: 'scanner',
};

export function classifyClick(signs: ClickSigns, soonMs: number): ClickVerdict {
  const reasons = reasonsOf(signs, soonMs);
  for (const [reason, verdict] of Object.entries(strong)) {
    if (reasons.includes(reason as ClickReason)) return { class: verdict, reasons };
  }
  const [only, another] = reasons;
  if (only === undefined) return { class: 'human', reasons };
  return { class: another === undefined ? 'unknown' : 'scanner', reasons };
}

function reasonsOf(signs: ClickSigns, soonMs: number): readonly ClickReason[] {
  const reasons: ClickReason[] = [];
  if (signs.isHead) reasons.push('head');
  if (signs.isPrefetch) reasons.push('prefetch');
  if (signs.userAgent === 'preview') reasons.push('previewer');
  if (signs.userAgent === 'bot') reasons.push('bot');
  if (signs.userAgent === 'none') reasons.push('no_user_agent');
  if (!signs.hasLanguage) reasons.push('no_language');
  if (!signs.isSent) reasons.push('not_sent');
  else if (signs.afterReceiptMs === 'before it') reasons.push('before_receipt');
  else if (signs.afterReceiptMs !== 'no receipt' && signs.afterReceiptMs < soonMs) reasons.push('soon_after_receipt');
  if (signs.isBurst) reasons.push('burst');
  return reasons;
}
