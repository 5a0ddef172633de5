// Fault 61 over the whole system: short links are opened all the time while PostgreSQL, the process with ClickHouse and
// nats-server are killed in turn. Each redirect leads to its target, and afterwards each click is recorded once: none of them
// was beyond a bound (docs/clicks.md).
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clickhouseDir, openEngine } from '../../analytics/store/engine.ts';
import { systemClock } from '../../platform/clock.ts';
import { patienceMs, until } from '../support/until.ts';
import { prefixOf } from '../support/smsc-peers.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';

const links = 20;
/** 60 a second at most: 3 of each code, of which more than 5 a second are not kept. */
const clickEveryMs = 15;
const killsOfEach = 3;

let harness: SystemHarness;
/** Where each code leads. */
const targets = new Map<string, string>();
let opened = 0;
const wrong: string[] = [];

beforeAll(async () => {
  harness = await openSystemHarness();
  for (let nth = 0; nth < links; nth += 1) {
    const target = `https://shop.example.org/offer?of=${nth}`;
    const to = `+880${prefixOf.alpha}${10_000_000 + nth}`;
    const body = { to, from: 'HELIOGRAPH', message: `See ${target}`, track_clicks: true };
    expect(await harness.client.call('POST', '/v1/sms', body)).toMatchObject({ status: 202 });
    const text = await until('the message is at its carrier', () => {
      return harness.smscPeers.carriers.alpha.messages({ destination: to.slice(1) })[0]?.text;
    });
    targets.set(/\/r\/(\w{10})/.exec(text)?.[1] ?? text, target);
  }
  expect(targets.size).toBe(links);
});
afterAll(() => harness?.stop());

async function open(code: string): Promise<string> {
  try {
    const answer = await fetch(`http://127.0.0.1:${harness.system.httpPort}/r/${code}`, {
      redirect: 'manual',
      headers: { 'user-agent': 'Mozilla/5.0 (Linux; Android 14) Chrome/130.0.0.0', 'accept-language': 'bn' },
    });
    await answer.body?.cancel();
    return `${answer.status} ${answer.headers.get('location') ?? ''}`;
  } catch (error) {
    return String(error);
  }
}

/** Opens the links in turn until `work` has ended. Resolves with how many were opened meanwhile. */
async function openWhile(work: Promise<unknown>): Promise<number> {
  const before = opened;
  let isWorking = true;
  const ended = work.finally(() => {
    isWorking = false;
  });
  const codes = [...targets];
  while (isWorking) {
    const [code, target] = codes[opened % links]!;
    const answer = await open(code);
    opened += 1;
    if (answer !== `302 ${target}`) wrong.push(answer);
    await systemClock.sleep(clickEveryMs);
  }
  await ended;
  return opened - before;
}

async function killAgainAndAgain(child: string): Promise<void> {
  for (let kill = 0; kill < killsOfEach; kill += 1) await harness.system.kill9(child);
}

it.each(['postgres', 'analytics', 'nats-server'])(
  'every link leads on while %s is killed and comes back',
  async (child) => {
    const count = await openWhile(killAgainAndAgain(child));
    expect(count).toBeGreaterThan(killsOfEach);
    expect(wrong).toEqual([]);
  },
);

it('every click is recorded once, with its target', async () => {
  const [first] = [...targets];
  expect(await open(first![0])).toBe(`302 ${first![1]}`);
  opened += 1;
  expect(await harness.system.metric('heliograph_clicks_lost_total')).toBe(0);
  await until('every click is counted', async () => {
    const { status, json } = await harness.client.call('GET', '/v1/reports/clicks');
    const [row] = status === 200 ? (json['data'] as Record<string, number>[]) : [];
    const { clicks_human = 0, clicks_preview = 0, clicks_scanner = 0, clicks_unknown = 0 } = row ?? {};
    return clicks_human + clicks_preview + clicks_scanner + clicks_unknown >= opened;
  });
  expect(await harness.system.stop()).toBe(0);
  const engine = openEngine({ clickhouseUrl: null, dataDir: clickhouseDir(harness.system.dataDir) });
  try {
    const rows = await engine.rows(
      'SELECT url, toUInt32(count()), toUInt32(uniqExact(click_id)) FROM link_clicks GROUP BY url',
      {},
      patienceMs,
    );
    const clicksOf = (at: 1 | 2) => rows.reduce((sum, row) => sum + Number(row[at]), 0);
    expect([clicksOf(1), clicksOf(2)]).toEqual([opened, opened]);
    expect(new Set(rows.map(([url]) => url))).toEqual(new Set(targets.values()));
  } finally {
    await engine.close();
  }
});
