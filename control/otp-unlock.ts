// Unlocks a number that is locked because too many guesses about it have failed, for the management API and the command line.
// It writes the buckets of one-time passwords and a record of the audit log, which goes over the bus. No database is needed.
import { placingSecret } from '../acceptance/idempotency/key-place.ts';
import { type OtpOwner, OtpStore } from '../acceptance/otp/store.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { openBucket } from '../cluster/bus/ensure.ts';
import { Publisher } from '../cluster/bus/publisher.ts';
import { shortenedPrefix } from '../model/e164.ts';
import type { Clock } from '../platform/clock.ts';
import { limits } from '../platform/limits.ts';
import { noteForAudit } from './audit-notes.ts';
import type { Actor } from './store/store.ts';

/** Unlocking again is harmless, and is a record of the audit log, too: the first one may have ended before its own. */
export async function unlockNumber(bus: Bus, owner: OtpOwner, to: string, by: Actor, clock: Clock) {
  const publisher = new Publisher(bus, { ...limits.otp.writes, clock });
  try {
    await openBucket(bus, 'otp');
    await openBucket(bus, 'otp_failures');
    const otps = new OtpStore(bus, publisher, await placingSecret(bus), clock);
    const failedGuesses = await otps.forgetFailures(owner, otps.placeOf(owner, to), clock.nowMs());
    const detail = { failed_guesses: failedGuesses, livemode: owner.livemode };
    const target = `${owner.accountId} ${shortenedPrefix(to)}`;
    await noteForAudit(bus, { action: 'otp.unlocked', target, detail, by }, clock);
    return { object: 'otp_unlock', to, failed_guesses: failedGuesses };
  } finally {
    publisher.close();
  }
}
