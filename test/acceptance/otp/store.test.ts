// The record of a number while the answer to a write is lost, with a real nats-server.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OtpStore } from '../../../acceptance/otp/store.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { type AccountId, type OtpId, placeOfOtp } from '../../../model/ids.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { otpLimitsDefault as rules } from '../../../policy/otp/contract.ts';
import { countGuess } from '../../../policy/otp/rules.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { type OtpNumbers, openOtpNumbers, otpNumber } from '../../support/otp-numbers.ts';

/** Publishes once more, as it does when no ack came: `beforeAgain` runs in between. */
class RepeatingPublisher extends Publisher {
  beforeAgain: (() => Promise<unknown>) | null = null;

  override async publishOne(...record: Parameters<Publisher['publishOne']>): ReturnType<Publisher['publishOne']> {
    const run = this.beforeAgain;
    this.beforeAgain = null;
    const first = await super.publishOne(...record);
    if (run === null) return first;
    await run();
    return super.publishOne(...record);
  }
}

const accountId = 'acc_01JABCDEFGHJKMNPQRSTVWXYZ0' as AccountId;
const owner = { accountId, livemode: true };
let server: TestBus;
let numbers: OtpNumbers;
let publisher: RepeatingPublisher;
beforeAll(async () => {
  server = await startBus();
  numbers = openOtpNumbers(server.bus, accountId);
  publisher = new RepeatingPublisher(server.bus, limits.otp.writes);
});
afterAll(async () => {
  numbers.close();
  publisher.close();
  await server.stop();
});

test('a guess whose ack was lost is counted once, although two others were stored before its publish was repeated', async () => {
  const { id } = await numbers.start(otpNumber(1));
  const otps = new OtpStore(server.bus, publisher, Buffer.alloc(32, 1));
  const count = (by: string, of: OtpId) =>
    otps.change(owner, placeOfOtp(of), (held) => countGuess(held, of, [by], rules, systemClock.nowMs()));
  publisher.beforeAgain = () => numbers.guessWrong(id).then(() => numbers.guessWrong(id));
  expect(await count('r', id)).toMatchObject({ ok: true, answer: { kind: 'counted', otp: { attempts: 1 } } });
  const number = await numbers.read(id);
  expect(number?.otps).toMatchObject([{ attempts: 3 }]);
  expect(number?.failuresMs).toHaveLength(3);
});
