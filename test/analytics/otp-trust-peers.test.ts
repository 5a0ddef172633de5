// With whom the report otp-trust compares a carrier: with the other carriers, and by sender with those of the same sender.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { otpTrust } from '../../analytics/reports/otp.ts';
import type { Dimension } from '../../analytics/reports/report.ts';
import { newAccountId } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
import { reportRows } from '../support/report-rows.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';

const halfHourMs = 1_800_000;
const toMs = Math.floor(systemClock.nowMs() / halfHourMs) * halfHourMs;
const fromMs = toMs - 48 * halfHourMs;
const accountId = newAccountId(fromMs);
let store: EventStore;

beforeAll(async () => {
  store = await startEventStore();
});
afterAll(() => store?.stop());

/** So many one-time passwords with a receipt “delivered” of the carrier; each tenth is entered, or seven of ten. */
async function send(carrier: string, sender: string, count: number, enteredOfTen: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, nth) => `${carrier}_${sender}_${nth}`);
  const at = (fromMs / 1_000).toFixed(3);
  const otps = ids.map((id, nth) => {
    const status = nth % 10 < enteredOfTen ? 'verified' : 'expired';
    return `${accountId}\ttrue\t${at}\totp_${id}\t1\t${status}\t${sender}\tfalse\t['sms_${id}']\t${at}\t${at}\n`;
  });
  const columns =
    'account_id, livemode, started_at, otp_id, version, status, sender, own_code, message_ids, expires_at, ended_at';
  await store.engine.insert(`otps (${columns})`, Buffer.from(otps.join('')));
  const messages = ids.flatMap((id) =>
    ['submitted', 'delivered'].map((kind) => `${accountId}\ttrue\t${at}\tsms_${id}\t${kind}\t0\t${carrier}\t${at}\n`),
  );
  const ofMessage = 'account_id, livemode, accepted_at, message_id, kind, hop, carrier, at';
  await store.engine.insert(`otp_messages (${ofMessage})`, Buffer.from(messages.join('')));
}

const rowsOf = (groupBy: readonly Dimension[]) =>
  reportRows(store.engine, otpTrust, { accountId, fromMs, toMs, groupBy });

test('a carrier whose receipts are false is not excused by its own under other senders', async () => {
  await send('alpha', 'BANK', 110, 1);
  await send('beta', 'BANK', 110, 7);
  await send('alpha', 'SHOP', 600, 1);
  expect(await rowsOf(['sender'])).toMatchObject([
    { sender: 'BANK', carrier: 'alpha', trust: 0.1, peers_trust: 0.7, suspicious: 1 },
    { sender: 'BANK', carrier: 'beta', trust: 0.7, peers_trust: 0.1, suspicious: 0 },
    { sender: 'SHOP', carrier: 'alpha', trust: 0.1, peers_trust: null, suspicious: 0 },
  ]);
  expect(await rowsOf([])).toMatchObject([
    { carrier: 'alpha', peers_trust: 0.7, suspicious: 1 },
    { carrier: 'beta', peers_trust: 0.1, suspicious: 0 },
  ]);
});
