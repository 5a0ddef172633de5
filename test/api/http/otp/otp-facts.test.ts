// What an ingress with two threads leaves of one-time passwords: the facts that follow from its records, those of the
// guard's refusals, and the end of one whose messages did not arrive. None of it has a code.
import { afterAll, expect, test } from 'vitest';
import { OtpEvents } from '../../../../actors/otp-events/otp-events.ts';
import { querySubjects } from '../../../../analytics/contract.ts';
import { openBucket } from '../../../../cluster/bus/ensure.ts';
import { streamNames } from '../../../../cluster/bus/streams.ts';
import type { Fact, GuardFact, OtpFact } from '../../../../model/fact.ts';
import { decodeFacts } from '../../../../model/records/fact-record.ts';
import { type Clock, systemClock } from '../../../../platform/clock.ts';
import { limits } from '../../../../platform/limits.ts';
import { recordsOf } from '../../../support/bus.ts';
import { until } from '../../../support/until.ts';
import { type OtpClient, openOtpClient, otherThan } from './otp-client.ts';

const client: OtpClient = await openOtpClient();
const { harness, tenant, start, verify, resend, get } = client;
let publishing: OtpEvents | null = null;
afterAll(async () => {
  await publishing?.stop();
  await harness.stop();
});

async function publish(aheadMs = 0): Promise<void> {
  await publishing?.stop();
  const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs };
  publishing = await OtpEvents.start({ bus: harness.bus, bucket: await openBucket(harness.bus, 'otp_events'), clock });
}
const facts = async (): Promise<readonly Fact[]> =>
  (await recordsOf(harness.bus, streamNames.facts)).flatMap(({ data }) => decodeFacts(data));
const factsOf = async (id: unknown) =>
  (await facts()).filter((fact): fact is OtpFact => fact.kind === 'otp' && fact.id === id);

test('a start, a resend, a wrong and a right guess are published, without the code', async () => {
  await publish();
  const { body } = await start({ language: 'bn', purpose: 'sign_in', client_reference: 'order-7' });
  await until('its start is published', async () => (await factsOf(body['id'])).length === 1);
  const again = await resend(body['id']);
  await verify(body['id'], otherThan(body['test_code']));
  await verify(body['id'], body['test_code']);
  const published = await until('its end is published', async () => {
    const found = await factsOf(body['id']);
    return found.at(-1)?.status === 'verified' && found;
  });
  expect(published.at(-1)).toMatchObject({
    ...{ accountId: tenant.accountId, livemode: false, to: body['to'], status: 'verified', reason: null, attempts: 2 },
    ...{ purpose: 'sign_in', language: 'bn', ownCode: false, clientReference: 'order-7' },
    messageIds: [body['sms_id'], again.body['sms_id']],
  });
  const octets = (await recordsOf(harness.bus, streamNames.facts)).map(({ data }) => Buffer.from(data).toString());
  expect(octets.join()).not.toContain(body['test_code']);
  expect(octets.join()).not.toMatch(/sealed|"text"/);
});

test('a code of the client’s own and a template of the account say so', async () => {
  const { body } = await start({ code: '123456' });
  const published = await until('it is published', async () => (await factsOf(body['id']))[0]);
  expect(published).toMatchObject({ ownCode: true, language: 'en' });
});

test('one whose only message did not arrive has failed when its time is over, and says why', async () => {
  const { body } = await start({ ttl_seconds: 30 });
  const { body: other } = await start({ ttl_seconds: 30 });
  await until('both are published', async () => {
    const [one, two] = [await factsOf(body['id']), await factsOf(other['id'])];
    return one.length > 0 && two.length > 0;
  });
  const store = harness.bus.connection.subscribe(querySubjects.get, {
    callback(_error, msg) {
      const { messageId } = msg.json<{ messageId: string }>();
      const status = messageId === body['sms_id'] ? 'undelivered' : 'delivered';
      const hop = { carrier: 'sandbox', hop: 0, status, acceptedToSubmittedMs: 5, submittedToDeliveredMs: null };
      msg.respond(JSON.stringify({ result: 'found', recordedTo: 1, message: { status }, hops: [hop] }));
    },
  });
  const aheadMs = 31_000 + limits.facts.graceMs;
  await publish(aheadMs);
  const endOf = (id: unknown) => async () => (await factsOf(id)).find(({ status }) => status !== 'pending');
  expect(await until('its end', endOf(body['id']))).toMatchObject({ status: 'failed', reason: 'delivery_failed' });
  expect(await until('the other', endOf(other['id']))).toMatchObject({ status: 'expired', reason: 'expired' });
  client.use(await harness.ingress({ HELIOGRAPH_OWN_BUS: 'yes', CLOCK_SHIFT_MS: '31000' }));
  expect((await get(body['id'])).body).toMatchObject({
    ...{ status: 'failed', reason: 'delivery_failed' },
    sends: [{ sms_id: body['sms_id'], status: 'undelivered' }],
  });
  expect((await get(other['id'])).body).toMatchObject({ status: 'expired', reason: 'expired' });
  store.unsubscribe();
  // Nobody can say what became of its message.
  expect((await get(body['id'])).body).toMatchObject({ status: 'expired', reason: 'expired' });
  client.use(client.ingress);
});

test('what the guard refuses is published with its rule and figures', async () => {
  await publish();
  const block = (at: number) => `+8801799${String(100_000 + at)}`;
  for (let at = 0; at < 11; at += 1) expect((await start({ to: block(at) }, tenant.live)).status).toBe(201);
  await until('it refuses', async () => (await start({ to: block(40) }, tenant.live)).body['code'] === 'otp_blocked');
  const found = await until('the block and a refusal', async () => {
    const guard = (await facts()).filter((fact): fact is GuardFact => fact.kind === 'guard');
    return new Set(guard.map(({ what }) => what)).size === 2 && guard;
  });
  const shared = { rule: 'sequence', statistic: 10, threshold: 10, mode: 'on', accountId: tenant.accountId };
  expect(found.find(({ what }) => what === 'block')).toMatchObject({ ...shared, scope: '+880179910', action: null });
  expect(found.find(({ what }) => what === 'refusal')).toMatchObject({
    ...{ ...shared, scope: '+880179910', prefix: '+8801799', action: 'block' },
  });
});
