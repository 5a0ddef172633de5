// The gates about the recipient: numbers in the do-not-disturb registry, for the categories that the country names, and
// numbers that opted out or that the account suppressed. Checked at admission, and again when a token is granted. While
// the registry cannot be read, its categories are refused and no others: an OTP does not wait for it.
import { type Category, categories } from '../../model/message.ts';
import type { Refusal, Suppressions } from '../contract.ts';
import type { DoNotDisturbRules } from '../country/contract.ts';
import type { RegistryState } from '../registry/contract.ts';

export type DoNotDisturb = {
  /** Whether the registry is checked for this category at all. */
  applies(category: Category): boolean;
  /** Null: it passes. Checked at the ingress, and again when a token is granted. */
  refuse(registry: RegistryState, category: Category, to: string): Refusal | null;
  /** The line for the message's trace: which version let it pass. Null when none was checked. */
  trace(registry: RegistryState, category: Category): string | null;
};

export function doNotDisturb(rules: DoNotDisturbRules | undefined): DoNotDisturb {
  const asked = new Set(rules?.appliesTo ?? []);
  // One version's line is made once, not for every message.
  let line = { version: '', text: '' };
  return {
    applies: (category) => asked.has(category),
    refuse(registry, category, to) {
      if (registry === null || !asked.has(category)) return null;
      if (registry === 'unknown') return unknown;
      if ((registry.markOf(to) & categoryBit[category]) === 0) return null;
      return {
        ok: false,
        code: 'recipient_do_not_disturb',
        field: 'to',
        registry: registry.version,
        detail: `is in the do-not-disturb registry (version ${registry.version}) for ${category} messages: take it off your list`,
      };
    },
    trace(registry, category) {
      if (registry === null || registry === 'unknown' || !asked.has(category)) return null;
      if (line.version !== registry.version) {
        line = { version: registry.version, text: `not in do-not-disturb registry ${registry.version}` };
      }
      return line.text;
    },
  };
}

/** The bits of a mark. Registry versions store them: never change a position. */
export const categoryBit: Readonly<Record<Category, number>> = { otp: 1, transactional: 2, promotional: 4 };

/** The mark of a number that does not want these. */
export function markOfCategories(unwanted: readonly Category[]): number {
  return categories.reduce((mark, each) => (unwanted.includes(each) ? mark | categoryBit[each] : mark), 0);
}

const unknown: Refusal = {
  ok: false,
  code: 'do_not_disturb_unknown',
  field: null,
  detail: 'the do-not-disturb registry cannot be read right now, and this category must not be sent without it',
};

export function optOutGate(
  suppressions: Suppressions | undefined,
  request: { readonly to: string; readonly from: string; readonly category: Category },
): Refusal | null {
  if (suppressions === undefined || !suppressions.has(request.to, request.from, request.category)) return null;
  const detail =
    `gets no messages from ${request.from}: its subscriber answered STOP, or it is on the suppression list of this ` +
    'account (GET /v1/suppressions); take it off your lists';
  return { ok: false, code: 'recipient_opted_out', field: 'to', detail };
}
