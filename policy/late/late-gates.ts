// The late gates: evaluated again when a token is granted, because the rules may change while a message waits. Pure.
import { type AccountId, keywordReplyKeyId } from '../../model/ids.ts';
import type { Category, Message } from '../../model/message.ts';
import { limits } from '../../platform/limits.ts';
import { doNotDisturb, optOutGate } from '../admission/recipient-gates.ts';
import { isApproved } from '../admission/principal-gates.ts';
import type { CountryRules } from '../country/contract.ts';
import { quietHours } from '../country/quiet-hours.ts';
import type { Registries } from '../registry/contract.ts';
import type { RefusalCode, Suppressions } from '../contract.ts';

export type LateVerdict =
  | { readonly ok: true }
  /**
   * The message ends here with this status; `code` is the `error` of its event: that of the gate (RefusalCode), or
   * validity_passed. canceled: only of a copy that is not needed.
   */
  | { readonly ok: false; readonly status: 'expired' | 'blocked' | 'canceled'; readonly code: string }
  /** It may be sent then, not now. */
  | { readonly ok: false; readonly status: 'held'; readonly code: RefusalCode; readonly untilMs: number };

export type LateGates = (message: Message, nowMs: number) => LateVerdict;

const mayGo: LateVerdict = { ok: true };
const noTenants = { account: () => undefined };

export function passLateGates(message: Message, nowMs: number): LateVerdict {
  if (nowMs >= message.validUntilMs) return { ok: false, status: 'expired', code: 'validity_passed' };
  return mayGo;
}

/** The account's current data. Undefined: not known, and then the decision of the ingress applies. */
export type LateTenants = {
  account(accountId: AccountId): LateTenant | undefined;
};

export type LateTenant = {
  readonly status: 'active' | 'suspended';
  readonly suppressions?: Suppressions;
  readonly senders?: ReadonlySet<string>;
  readonly senderCategories?: ReadonlyMap<string, readonly Category[]>;
};

/**
 * A sender that was rejected or removed blocks what waits in its name. The ingress may learn of an approval before an
 * actor does: a message accepted just now passes.
 */
function senderIsApproved({ senders, senderCategories }: LateTenant, message: Message, nowMs: number): boolean {
  if (senders === undefined || !message.livemode || message.keyId === keywordReplyKeyId) return true;
  if (nowMs - message.acceptedAtMs < limits.directory.receivedWithinMs) return true;
  const account = { senders, ...(senderCategories === undefined ? {} : { senderCategories }) };
  return isApproved(account, message.sender, message.category);
}

/** The late gates of a country. `registries` is called again for every message: versions are replaced. */
export function lateGates(
  country: CountryRules,
  registries: () => Registries,
  tenants: LateTenants = noTenants,
): LateGates {
  const dndGate = doNotDisturb(country.doNotDisturb);
  const quiet = quietHours(country.quietHours ?? []);
  return (message, nowMs) => {
    const verdict = passLateGates(message, nowMs);
    if (!verdict.ok) return verdict;
    const account = tenants.account(message.accountId);
    if (account !== undefined) {
      if (account.status === 'suspended') return { ok: false, status: 'blocked', code: 'account_suspended' };
      const { recipient: to, sender: from, category } = message;
      const optedOut = optOutGate(account.suppressions, { to, from, category });
      // The answer to STOP confirms it, and an answer to HELP is always sent.
      if (optedOut !== null && message.keyId !== keywordReplyKeyId)
        return { ok: false, status: 'blocked', code: optedOut.code };
      if (!senderIsApproved(account, message, nowMs))
        return { ok: false, status: 'blocked', code: 'sender_not_registered' };
    }
    // As at the ingress: a test message reaches nobody.
    if (!message.livemode) return mayGo;
    const { dnd } = registries();
    const refused = dndGate.refuse(dnd, message.category, message.recipient);
    // The ingress has checked a registry that this process could not load yet.
    if (refused !== null && dnd !== 'unknown') {
      const version = dnd === null ? '' : `:${dnd.version}`;
      return { ok: false, status: 'blocked', code: `${refused.code}${version}` };
    }
    const untilMs = quiet.quietUntil(message.category, nowMs);
    if (untilMs === null) return mayGo;
    // What cannot be sent within its validity waits for its end, and is published as expired.
    return { ok: false, status: 'held', code: 'quiet_hours', untilMs: Math.min(untilMs, message.validUntilMs) };
  };
}
