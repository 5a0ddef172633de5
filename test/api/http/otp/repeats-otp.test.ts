// Repeats of starts, resends and guesses under an automatic key, which stores no answer: what the first try has done is
// neither undone nor counted once more. A real ingress and a real nats-server.
import { afterAll, describe, expect, test } from 'vitest';
import { overflowHeartbeats } from '../../../../cluster/bus/overflow-heartbeat.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { type OtpClient, openOtpClient } from './otp-client.ts';

const client: OtpClient = await openOtpClient(1);
const { harness, start, verify, resend, get } = client;
afterAll(() => harness.stop());

let keys = 0;
/** Good for 20 s. */
const automaticKey = () => ({
  'idempotency-key': `auto_${Math.floor(systemClock.nowMs())}_${String((keys += 1)).padStart(16, '0')}`,
});

describe('a repeat that is refused before it is published', () => {
  type Answer = { readonly status: number; readonly body: Record<string, unknown> };
  /** Repeats `ask` while the queue of its account is said to be full, until it is refused for that. */
  const refusedAsFull = async (accountId: string, ask: () => Promise<Answer>) => {
    const { body } = await until('the queue of the account is full', async () => {
      const lanes = { otp: { [accountId]: true } };
      overflowHeartbeats.publish(harness.bus, { carrier: 'sandbox', node: 'test', lanes });
      await harness.bus.connection.flush();
      const answer = await ask();
      return answer.status !== 200 && answer.status !== 201 && answer;
    });
    return body['code'];
  };

  test('leaves the code of the first try, which was sent', async () => {
    const own = await harness.tenant();
    const headers = automaticKey();
    const { body } = await start({ to: '+8801711111111' }, own.test, headers);
    const repeat = () => start({ to: '+8801711111111' }, own.test, headers);
    expect(await refusedAsFull(own.accountId, repeat)).toBe('account_queue_full');
    expect((await verify(body['id'], body['test_code'], { token: own.test })).body).toMatchObject({ valid: true });
  });

  test('leaves the send of a resend', async () => {
    const own = await harness.tenant();
    const { body } = await start({}, own.test);
    const headers = automaticKey();
    const { body: resent } = await resend(body['id'], own.test, headers);
    expect(await refusedAsFull(own.accountId, () => resend(body['id'], own.test, headers))).toBe('account_queue_full');
    const { sends } = (await get(body['id'], own.test)).body;
    expect(sends).toMatchObject([{ sms_id: body['sms_id'] }, { sms_id: resent['sms_id'] }]);
  });
});
