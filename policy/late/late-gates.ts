// The late gates: checked again when a token is granted, because a message can wait longer than the rules that
// admitted it stay the same. Pure.
import { type AccountId, keywordReplyKeyId } from '../../model/ids.ts';
import type { Category, Message } from '../../model/message.ts';
import { limits } from '../../platform/limits.ts';
import { doNotDisturb, optOutGate } from '../admission/recipient-gates.ts';
import { isApproved } from '../admission/principal-gates.ts';
import type { CountryRules } from '../country/contract.ts';
import { quietHours } from '../country/quiet-hours.ts';
import type { Registries } from '../registry/contract.ts';
import type { Suppressions } from '../contract.ts';

export type LateVerdict =
  | { readonly ok: true }
  /** The message ends here with this status and error code. */
  | { readonly ok: false; readonly status: 'expired' | 'blocked'; readonly code: string }
  /** It may go out then, not now. */
  | { readonly ok: false; readonly status: 'held'; readonly code: 'quiet_hours'; readonly untilMs: number };

export type LateGates = (message: Message, nowMs: number) => LateVerdict;

const mayGo: LateVerdict = { ok: true };
const nobodyKnown = { account: () => undefined };

export function passLateGates(message: Message, nowMs: number): LateVerdict {
  if (nowMs >= message.validUntilMs) return { ok: false, status: 'expired', code: 'validity_passed' };
  return mayGo;
}

/** What is known of an account now. Undefined: nothing, and then what the ingress decided holds. */
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
 * A sender that was rejected or taken away holds up what waits in its name. The ingress hears of an approval some moments
 * before an actor may: what was accepted just now is believed.
 */
function senderIsApproved({ senders, senderCategories }: LateTenant, message: Message, nowMs: number): boolean {
  if (senders === undefined || !message.livemode || message.keyId === keywordReplyKeyId) return true;
  if (nowMs - message.acceptedAtMs < limits.directory.heardWithinMs) return true;
  const account = { senders, ...(senderCategories === undefined ? {} : { senderCategories }) };
  return isApproved(account, message.sender, message.category);
}

/** The late gates of a country. `registries` is asked again for every message: versions come and go. */
export function lateGates(
  country: CountryRules,
  registries: () => Registries,
  tenants: LateTenants = nobodyKnown,
): LateGates {
  const disturb = doNotDisturb(country.doNotDisturb);
  const quiet = quietHours(country.quietHours ?? []);
  return (message, nowMs) => {
    const verdict = passLateGates(message, nowMs);
    if (!verdict.ok) return verdict;
    const account = tenants.account(message.accountId);
    if (account !== undefined) {
      if (account.status === 'suspended') return { ok: false, status: 'blocked', code: 'account_suspended' };
      const { recipient: to, sender: from, category } = message;
      const optedOut = optOutGate(account.suppressions, { to, from, category });
      // The answer to STOP confirms it, and who asks for help gets it.
      if (optedOut !== null && message.keyId !== keywordReplyKeyId)
        return { ok: false, status: 'blocked', code: optedOut.code };
      if (!senderIsApproved(account, message, nowMs))
        return { ok: false, status: 'blocked', code: 'sender_not_registered' };
    }
    // As at the ingress: a test message reaches nobody, at no hour.
    if (!message.livemode) return mayGo;
    const { dnd } = registries();
    const refused = disturb.refuse(dnd, message.category, message.recipient);
    // A registry this process could not load yet was asked by the ingress.
    if (refused !== null && dnd !== 'unknown') {
      const version = dnd === null ? '' : `:${dnd.version}`;
      return { ok: false, status: 'blocked', code: `${refused.code}${version}` };
    }
    const untilMs = quiet.quietUntil(message.category, nowMs);
    if (untilMs === null) return mayGo;
    // What cannot go out any more within its validity waits for its end, and is published as expired.
    return { ok: false, status: 'held', code: 'quiet_hours', untilMs: Math.min(untilMs, message.validUntilMs) };
  };
}
