// Fault 61: short links lead on while NATS is away, and their clicks are counted once when they can be. The ingress of this
// test has neither a database nor an event store: test/faults/links.test.ts kills those of a whole system.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Click, decodeClickRecord } from '../../../model/records/click-record.ts';
import { startAnalytics } from '../../../analytics/analytics-node.ts';
import { clickhouseDir, openEngine } from '../../../analytics/store/engine.ts';
import { applySchema } from '../../../analytics/store/schema.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../support/until.ts';
import { type Harness, type Ingress, type Tenant, goodBody, openHarness, post } from '../http/harness.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  ingress = await harness.ingress();
});
afterAll(async () => harness.stop());

const target = 'https://shop.example.org/offer';
const headers = { 'user-agent': 'Mozilla/5.0 (Linux; Android 14) Chrome/130.0.0.0', 'accept-language': 'bn' };

async function open(code: string): Promise<string | null> {
  const answer = await fetch(ingress.url(`/r/${code}`), { redirect: 'manual', headers });
  await answer.body?.cancel();
  return answer.status === 302 ? answer.headers.get('location') : `status ${answer.status}`;
}

async function storedClicks(): Promise<readonly Click[]> {
  const clicks: Click[] = [];
  const { state } = await harness.bus.manager.streams.info('CLICKS');
  for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
    const found = await harness.bus.manager.streams.getMessage('CLICKS', { seq });
    const record = found === null ? null : decodeClickRecord(found.data);
    if (record?.kind === 'clicks') clicks.push(...record.clicks);
  }
  return clicks;
}

test('redirects go on while NATS is away, and each click is counted once', async () => {
  const body = { ...goodBody, message: `See ${target}`, track_clicks: true };
  for (let sent = 0; sent < 10; sent += 1) expect((await post(ingress, tenant.live, body)).status).toBe(202);
  const messages = await harness.messages();
  const codes = messages.map(({ body: sent }) => ('text' in sent ? sent.text.slice(-10) : ''));
  /** In turn: more clicks of one link than people make are not kept. */
  const openAll = async (count: number) => {
    for (let at = 0; at < count; at += 1) expect(await open(codes[at % codes.length]!)).toBe(target);
  };
  await openAll(10);

  await harness.nats.kill9();
  await openAll(200);
  await harness.nats.restart();
  await openAll(50);

  const stored = await until('every click is stored', async () => {
    // A server that has just been restarted may not answer in time.
    const clicks = await storedClicks().catch(() => []);
    return new Set(clicks.map(({ clickId }) => clickId)).size >= 260 ? clicks : null;
  });

  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-clicks-'));
  const engine = openEngine({ clickhouseUrl: null, dataDir: clickhouseDir(dataDir) });
  await applySchema(engine);
  const node = await startAnalytics(harness.bus, engine);
  const counts = async () =>
    (await engine.rows('SELECT toUInt32(count()), toUInt32(uniqExact(click_id)) FROM link_clicks'))[0];
  await until('every click is recorded', async () => Number((await counts())?.[1]) === 260);
  expect(await counts()).toEqual([260, 260]);
  expect(new Set(stored.map(({ clickId }) => clickId)).size).toBe(260);
  const rows = await engine.rows('SELECT DISTINCT message_id, account_id, url FROM link_clicks ORDER BY message_id');
  const ids = messages.map(({ messageId }) => messageId).toSorted();
  expect(rows).toEqual(ids.map((messageId) => [messageId, tenant.accountId, target]));
  await node.stop(5_000);
  await engine.close();
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 3 });
});
