// One machine's wall clock is an hour wrong: it reports that and accepts no work; the other does it all, no OTP
// expires, and nothing scheduled is sent before its time. Real roles, two machines on one nats-server.
import { afterEach, expect, test } from 'vitest';
import { publishLater } from '../../cluster/bus/later.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { encodeMessage, messageRecordId } from '../../model/records/message-record.ts';
import { messageSubject } from '../../cluster/bus/subjects.ts';
import type { CarrierConfig } from '../../config/configuration.ts';
import { otpRulesDefault } from '../../policy/otp/contract.ts';
import { retentionDefault } from '../../config/retention-schema.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../support/carrier-harness.ts';
import { bodyKey } from '../support/host-process.ts';
import { messageWith } from '../support/messages.ts';
import { newMessageId } from '../../model/ids.ts';
import { startRolesOf } from '../support/role-child.ts';

let harness: CarrierHarness;
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await harness.stop();
});

const hour = 3_600_000;
const configurationOf = (carrier: CarrierConfig) => ({
  country: { name: 'Bangladesh', callingCode: '+880', nationalLengths: [10], prefixes: { '17': carrier.name } },
  carriers: [carrier],
  routes: [],
  routing: { fallback: [], otpFailoverAfterMs: 1_000, othersFailoverAfterMs: 30_000 },
  retention: retentionDefault,
  analytics: { sqlEndpoint: null },
  otp: otpRulesDefault,
  actors: { threads: 1, flightDumps: 0 },
});
const node = (name: string, shiftMs: number) => ({
  env: { HELIOGRAPH_OWN_BUS: 'no', HELIOGRAPH_NODE: name, CLOCK_SHIFT_MS: String(shiftMs), HELIOGRAPH_LOG: 'fatal' },
  execArgv: ['--import', new URL('../support/shifted-clock.ts', import.meta.url).pathname],
});

test.each([hour, -hour])(
  'a machine %d ms off takes no work: OTP are delivered, and what is scheduled waits for its time',
  async (off) => {
    harness = await openCarrierHarness();
    const alpha = carrierWith(harness.simulator);
    ends.push(await startRolesOf('actors', harness.nats.url, configurationOf(alpha), node('wrong', off)));
    const waiting = await harness.send(20, { category: 'otp', validUntilMs: systemClock.nowMs() + 300_000 });
    // It has no binds and accepts nothing, although it is alone.
    const aWhileMs = systemClock.monotonicMs() + 4_000;
    await until('a while has passed', () => systemClock.monotonicMs() > aWhileMs);
    expect(harness.simulator.messages()).toEqual([]);
    expect((await harness.bus.manager.streams.info('MT_OTP')).state.messages).toBe(20);

    ends.push(await startRolesOf('actors', harness.nats.url, configurationOf(alpha), node('right', 0)));
    const sent = await harness.send(20, { category: 'otp', validUntilMs: systemClock.nowMs() + 300_000 });
    const account = await harness.settled([...waiting, ...sent]);
    expect(account).toMatchObject({ twice: [], never: [], statuses: { delivered: 40 } });

    const dueAtMs = systemClock.nowMs() + 6_000;
    const scheduled = messageWith({
      messageId: newMessageId(systemClock.nowMs()),
      scheduledAtMs: dueAtMs,
      body: { text: 'late #zz#' },
    });
    const record = {
      subject: messageSubject(scheduled.category, 'alpha', scheduled.accountId),
      payload: encodeMessage(scheduled, bodyCipher(bodyKey)),
      dueAtMs,
      id: messageRecordId(scheduled),
      shardKey: scheduled.messageId,
      cancelable: scheduled.messageId,
    };
    publishLater(harness.publisher, record, systemClock.nowMs(), () => {});
    await until('it is sent', () => harness.simulator.messages().length === 41);
    expect(systemClock.nowMs()).toBeGreaterThanOrEqual(dueAtMs - 5);
  },
);
