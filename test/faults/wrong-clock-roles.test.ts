// The other roles on a machine whose wall clock is an hour wrong: the ingress accepts nothing, the event store and the
// management API use the time the machines agree on, and the doctor reports the fault. Real roles on one nats-server
// with the right time.
import { afterEach, expect, test } from 'vitest';
import { type GetMessageReply, querySubjects } from '../../analytics/contract.ts';
import { retentionDefault } from '../../config/retention-schema.ts';
import { newAccountId, newMessageId } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { type Harness, call, goodBody, openHarness } from '../api/http/harness.ts';
import { startBus } from '../support/bus.ts';
import { runCli } from '../support/cli.ts';
import { startRolesOf } from '../support/role-child.ts';

const hour = 3_600_000;
const shiftedClock = new URL('../support/shifted-clock.ts', import.meta.url).pathname;
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

test.each([hour, -hour])(
  'an ingress %d ms off answers 503 clock_wrong and queues nothing; one beside it takes it',
  async (off) => {
    const harness: Harness = await openHarness();
    ends.push(() => harness.stop());
    const right = await harness.ingress({ HELIOGRAPH_NODE: 'right' });
    const tenant = await harness.tenant();
    const wrong = await harness.ingress({
      HELIOGRAPH_NODE: 'wrong',
      CLOCK_SHIFT_MS: String(off),
      HELIOGRAPH_LOG: 'fatal',
    });
    const requests: [string, object][] = [
      ['/v1/sms', goodBody],
      ['/v1/sms', { ...goodBody, category: 'otp' }],
      ['/v1/sms', { ...goodBody, send_at: new Date(systemClock.nowMs() + 2 * hour).toISOString() }],
    ];
    for (const [path, body] of requests) {
      const refused = await call(wrong, 'POST', path, tenant.live, body);
      expect(refused).toMatchObject({ status: 503, body: { code: 'clock_wrong' } });
      expect(refused.headers.get('retry-after')).toBe('5');
    }
    const batch = await call(wrong, 'POST', '/v1/sms/batch', tenant.live, { messages: [goodBody, goodBody] });
    expect(JSON.stringify(batch.body)).toContain('clock_wrong');
    expect(JSON.stringify(batch.body)).not.toContain('"accepted":2');
    for (const stream of ['MT_TXN', 'MT_OTP', 'SCHEDULED']) expect(await harness.count(stream)).toBe(0);
    expect((await call(wrong, 'GET', '/health/ready', null)).status).toBe(503);
    expect((await call(right, 'POST', '/v1/sms', tenant.live, goodBody)).status).toBe(202);
  },
);

test.each([hour, -hour])('an event store %d ms off distinguishes a young message from an old one', async (off) => {
  const on = await startBus();
  ends.push(() => on.stop());
  const env = {
    HELIOGRAPH_OWN_BUS: 'no',
    HELIOGRAPH_NODE: 'wrong',
    CLOCK_SHIFT_MS: String(off),
    HELIOGRAPH_LOG: 'fatal',
  };
  const configuration = { retention: retentionDefault, analytics: { sqlEndpoint: null } };
  ends.push(await startRolesOf('analytics', on.nats.url, configuration, { env, execArgv: ['--import', shiftedClock] }));
  const accountId = newAccountId(systemClock.nowMs());
  const ask = async (messageId: string) => {
    const question = JSON.stringify({ accountId, messageId, upToDate: true });
    const answer = await on.bus.connection.request(querySubjects.get, question, { timeout: 5_000 });
    return answer.json<GetMessageReply>();
  };
  // Its first event may still be in transit: no answer may say that there is none.
  const young = newMessageId(systemClock.nowMs());
  expect(await ask(young)).toMatchObject({ result: 'unavailable', why: 'young' });
  expect(await ask(newMessageId(systemClock.nowMs() - 2 * 60_000))).toMatchObject({ result: 'none' });
});

test.each([hour, -hour])(
  'the doctor says of a machine %d ms off by how much, and of one that is right that it is',
  async (off) => {
    const on = await startBus();
    ends.push(() => on.stop());
    const doctor = async (shiftMs: number) => {
      const { stdout } = await runCli(['doctor', '--json'], {
        NATS_URL: on.nats.url,
        HELIOGRAPH_HTTP_PORT: '0',
        HELIOGRAPH_ADMIN_PORT: '0',
        CLOCK_SHIFT_MS: String(shiftMs),
        NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import ${shiftedClock}`,
      });
      const { checks } = JSON.parse(stdout) as { checks: { check: string; ok: boolean; detail: string }[] };
      return checks.find(({ check }) => check === 'clock');
    };
    const compared = (shiftMs: number) =>
      until('the clocks are compared', async () => {
        const found = await doctor(shiftMs);
        return found?.detail.includes('took too long') === true ? null : found;
      });
    const wrong = await compared(off);
    expect(wrong.ok).toBe(false);
    const seconds = Number(
      /clock is (-?[0-9.]+) s ahead of the nats-server's: set one of them right/.exec(wrong.detail)?.[1],
    );
    expect(Math.abs(seconds - off / 1_000)).toBeLessThan(1);
    const right = await compared(0);
    expect(right).toMatchObject({ ok: true, detail: expect.stringMatching(/^-?0\.[0-9]+ s ahead/) });
  },
);
