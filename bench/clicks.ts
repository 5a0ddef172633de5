// Short links under load in a whole system: redirects open loop with everything there, then with PostgreSQL, the process of
// ClickHouse and nats-server each stopped (SIGSTOP) for a while. Latency counts from the intended time, and every click is
// counted in ClickHouse. While NATS is away clicks wait in bounded memory: what does not fit is lost, the
// product says how many, and the bench holds it to that number.
import { readFileSync } from 'node:fs';
import { clickhouseDir, openEngine } from '../analytics/store/engine.ts';
import { connectBus } from '../cluster/bus/connect.ts';
import { issuedLinksSubject } from '../cluster/bus/subjects.ts';
import { readConnections } from '../cluster/supervisor/data-folder.ts';
import { linkSecret } from '../directory/link-secret.ts';
import { linkCodes } from '../model/link-code.ts';
import { decodeClickRecord } from '../model/records/click-record.ts';
import { systemClock } from '../platform/clock.ts';
import { until } from '../platform/deadline.ts';
import { ignoring } from '../platform/errors.ts';
import type { WholeSystem } from '../test/support/whole-system.ts';
import { type Bench, type BenchOptions, seedOption } from './harness/bench.ts';
import { withSystem } from './harness/configuration.ts';
import { latencyFigures } from './harness/latency-figures.ts';
import { cpuBetween, processTree } from './harness/processes.ts';
import { type BenchResult, zero } from './harness/report.ts';
import type { LaneResult } from './load/lanes.ts';
import type { RedirectTask } from './load/redirect-load.ts';
import { runChild } from './load/child.ts';
import { jsonClient } from './load/json-client.ts';

const warmUpSeconds = 5;
const awaySecondsMax = 10;
const connections = 64;
/** Each has a link, of so many different ones. */
const messages = 2_000;
const targets = 20;
const batchSize = 200;
const settleMs = 120_000;

/** What is stopped in each phase, as a child of the supervisor. ClickHouse runs in the process analytics. */
const away = { postgres: 'postgres', clickhouse: 'analytics', nats: 'nats-server' } as const;
const phases = {
  steady: 'redirects with everything there; redirect_p99_ms is of this phase',
  postgres: 'PostgreSQL is stopped (SIGSTOP) while redirects go on',
  clickhouse: 'the same with the process that has ClickHouse',
  nats: 'the same with nats-server; clicks that do not fit into memory meanwhile are lost and counted as lost',
} as const;

export const bench: Bench<'seconds' | 'rate' | 'only' | 'seed'> = {
  about: 'redirects of short links at 5,000/s, also with PostgreSQL, ClickHouse and NATS away; every click counted',
  takes: 'about two minutes',
  options: {
    seconds: { about: `seconds of the steady load; each other phase takes ${awaySecondsMax} at most`, default: 30 },
    rate: { about: 'redirects a second', default: 5_000 },
    only: { about: 'the phases to run; steady runs always', parts: phases },
    seed: seedOption,
  },
  targets: () => [
    { figure: 'redirect_p99_ms', op: '<=', bound: 5 },
    ...zero('not_redirected', 'lost', 'unaccounted', 'duplicated', 'not_in_reports'),
  ],
  run,
};

async function run({
  seconds,
  seed,
  rate,
  only,
}: BenchOptions<'seconds' | 'rate' | 'only' | 'seed'>): Promise<BenchResult> {
  return withSystem(configuration, {}, (system) => measure(system, { seconds, seed, rate, only }));
}

async function measure(
  system: WholeSystem,
  { seconds, seed, rate, only }: { seconds: number; seed: number; rate: number; only: readonly string[] },
): Promise<BenchResult> {
  const codes = await codesSent(system);
  let nth = 0;
  const load = (phaseSeconds: number) => {
    nth += 1;
    const task = { port: system.httpPort, codes, ratePerSecond: rate, seconds: phaseSeconds, seed: seed + nth };
    return runChild<RedirectTask, LaneResult>(
      'redirect-load.ts',
      { ...task, connections },
      (phaseSeconds + 60) * 1_000,
    );
  };
  const lostSoFar = () => system.metric('heliograph_clicks_lost_total');
  const loads: LaneResult[] = [await load(warmUpSeconds)];

  const root = system.process.pid ?? 0;
  const before = processTree(root);
  const steady = await load(seconds);
  const cpu = cpuBetween(before, processTree(root));
  loads.push(steady);

  const figures: Record<string, number> = {};
  let lostBeforeNats = 0;
  for (const [name, child] of Object.entries(away).filter(([each]) => only.includes(each))) {
    if (name === 'nats') lostBeforeNats = await lostSoFar();
    const pid = await system.pidOf(child);
    process.kill(pid, 'SIGSTOP');
    try {
      const during = await load(Math.min(seconds, awaySecondsMax));
      loads.push(during);
      Object.assign(figures, latencyFigures(`${name}_away_redirect`, during.latency, ['p50', 'p99']));
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  }

  const redirected = loads.reduce((sum, { statuses }) => sum + (statuses['302'] ?? 0), 0);
  const offered = loads.reduce((sum, each) => sum + each.offered, 0);
  const recorded = async () => (await system.metric('heliograph_clicks_recorded_total')) + (await lostSoFar());
  await until('every click is recorded', async () => (await recorded()) >= redirected, {
    limitMs: settleMs,
    everyMs: 500,
  }).catch((error: unknown) => ignoring(error, 'what is not recorded is counted as missing'));
  const lost = await lostSoFar();
  await system.stop();
  const counted = await countClicks(system.dataDir);
  const without = Object.keys(away).filter((name) => only.includes(name));
  const awayLoad =
    without.length === 0 ? '' : `, ${Math.min(seconds, awaySecondsMax)} s each without ${without.join(', ')}`;
  return {
    load: `open loop, ${connections} connections, ${rate}/s: ${seconds} s with everything${awayLoad}`,
    figures: {
      ...latencyFigures('redirect', steady.latency, ['p50', 'p99', 'p999', 'max']),
      ...latencyFigures('generator_late', steady.generatorLate, ['p50', 'p99']),
      ...figures,
      cpu_ingress_us_per_redirect: (cpu.get('ingress') ?? Number.NaN) / steady.offered,
      cpu_nats_us_per_redirect: (cpu.get('nats') ?? Number.NaN) / steady.offered,
      cpu_analytics_us_per_click: (cpu.get('analytics') ?? Number.NaN) / steady.offered,
      cpu_delivery_us_per_click: (cpu.get('delivery') ?? Number.NaN) / steady.offered,
      redirected,
      not_redirected: offered - redirected,
      recorded: counted.rows,
      lost: lostBeforeNats,
      lost_nats_away: lost - lostBeforeNats,
      unaccounted: redirected - counted.rows - lost,
      duplicated: counted.rows - counted.distinct,
      not_in_reports: counted.rows - counted.inCounts,
    },
  };
}

/** Sends test messages with links, and resolves with the codes that went out. */
async function codesSent(system: WholeSystem): Promise<readonly string[]> {
  const url = readConnections(system.dataDir)?.natsUrl;
  if (url === undefined) throw new Error('the system does not run');
  const bus = await connectBus(url, 'bench');
  const post = jsonClient(system.httpPort, system.keys.testKey);
  try {
    const codec = linkCodes(await linkSecret(bus));
    const codes: string[] = [];
    bus.connection.subscribe(issuedLinksSubject, {
      callback(_error, { data }) {
        const record = decodeClickRecord(data);
        if (record.kind === 'issued') codes.push(...record.issued.links.map((place) => codec.codeOf(place)));
      },
    });
    // What a busy machine refuses is sent again as another message.
    for (let sent = 0; codes.length < messages; sent += batchSize) {
      const batch = Array.from({ length: batchSize }, (_, at) => messageOf(sent + at));
      const { status, body } = await post('/v1/sms/batch', { messages: batch });
      if (status !== 202) throw new Error(`a batch was not accepted: ${status} ${JSON.stringify(body)}`);
    }
    // Their receipts come before the clicks.
    await systemClock.sleep(3_000);
    return codes;
  } finally {
    await bus.close();
  }
}

const messageOf = (n: number) => ({
  to: `+88017${String(10_000_000 + n)}`,
  from: 'HELIOGRAPH',
  message: `Your offer: https://shop.example.org/offer?id=${n % targets}`,
  track_clicks: true,
});

/** The system must be stopped. */
async function countClicks(dataDir: string): Promise<{ rows: number; distinct: number; inCounts: number }> {
  const engine = openEngine({ clickhouseUrl: null, dataDir: clickhouseDir(dataDir) });
  try {
    const [clicks] = await engine.rows('SELECT toUInt32(count()), toUInt32(uniqExact(click_id)) FROM link_clicks');
    const [counts] = await engine.rows("SELECT toInt32(sum(counts)) FROM click_counts WHERE what = 'clicks'");
    return { rows: Number(clicks?.[0]), distinct: Number(clicks?.[1]), inCounts: Number(counts?.[0]) };
  } finally {
    await engine.close();
  }
}

/** That of the repository, with a domain for short links; clients' addresses come in a header. */
const configuration = readFileSync(new URL('../heliograph.yaml', import.meta.url), 'utf8')
  .replace('base_url: null', 'base_url: https://go.example')
  .replace('trusted_proxies: []', 'trusted_proxies: [127.0.0.0/8]');
