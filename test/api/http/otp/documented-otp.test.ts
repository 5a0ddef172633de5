// What GET /v1/otp/{id} answers is what its document says, whatever became of the one-time password: a real ingress and a
// real nats-server, with an event store that knows one of the messages.
import { afterAll, expect, test } from 'vitest';
import { querySubjects } from '../../../../analytics/contract.ts';
import { otp } from '../../../../api/management/schemas/otp.ts';
import type { AccountId, OtpId } from '../../../../model/ids.ts';
import { type OtpFailReason, otpEndReasons, otpFailReasons, otpFailures } from '../../../../model/otp.ts';
import { openOtpNumbers } from '../../../support/otp-numbers.ts';
import { type OtpClient, freshNumber, openOtpClient, otherThan } from './otp-client.ts';

const client: OtpClient = await openOtpClient(1);
const { harness, tenant, start, verify, get } = client;
const numbers = openOtpNumbers(harness.bus, tenant.accountId as AccountId, false);
afterAll(async () => {
  numbers.close();
  await harness.stop();
});

/** Lets one fail for each reason, and returns its id. */
const failing: Readonly<Record<OtpFailReason, () => Promise<string>>> = {
  async locked() {
    const to = freshNumber();
    const { body: waiting } = await start({ to, purpose: 'waiting' });
    for (const purpose of ['a', 'b', 'c', 'd']) {
      const { body } = await start({ to, purpose });
      for (let guess = 0; guess < 5; guess += 1) await verify(body['id'], otherThan(body['test_code']));
    }
    return waiting['id'];
  },
  async not_sent() {
    const { body } = await start();
    const record = await numbers.read(body['id'] as OtpId);
    await numbers.withdraw(record!.otps[0]!);
    return body['id'];
  },
  async delivery_failed() {
    const { body } = await start({ ttl_seconds: 30 });
    harness.bus.connection.subscribe(querySubjects.get, {
      callback(_error, msg) {
        const isIt = msg.json<{ messageId: string }>().messageId === body['sms_id'];
        const status = isIt ? 'undelivered' : 'delivered';
        const hop = { carrier: 'sandbox', hop: 0, status, hedgedBy: null, acceptedToSubmittedMs: 5 };
        const hops = [{ ...hop, submittedToDeliveredMs: null }];
        msg.respond(JSON.stringify({ result: 'found', recordedTo: 1, message: { status }, hops }));
      },
    });
    client.use(await harness.ingress({ HELIOGRAPH_OWN_BUS: 'yes', CLOCK_SHIFT_MS: '31000' }));
    return body['id'];
  },
};

// The event store answers for the last one only, whose ingress is half a minute ahead.
test.each(otpFailReasons)('one that failed with the reason %s', async (reason) => {
  const { status, body } = await get(await failing[reason]());
  expect({ status, body }).toMatchObject({ status: 200, body: { status: 'failed', reason } });
  expect(otp.strict().parse(body)).toEqual(body);
});

test('every reason of a record is one of them', () => {
  expect(otpFailReasons).toEqual([...otpFailures, 'delivery_failed']);
  expect(otp.shape.reason.unwrap().options).toEqual([...otpEndReasons]);
});

test('one that waits and one that was verified have no reason', async () => {
  client.use(client.ingress);
  const { body } = await start();
  const waiting = (await get(body['id'])).body;
  await verify(body['id'], body['test_code']);
  const verified = (await get(body['id'])).body;
  expect([waiting, verified]).toMatchObject([
    { status: 'pending', reason: null },
    { status: 'verified', reason: null },
  ]);
  for (const each of [waiting, verified]) expect(otp.strict().parse(each)).toEqual(each);
});
