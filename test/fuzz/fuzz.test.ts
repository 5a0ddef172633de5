// Ten thousand requests, valid and invalid by the OpenAPI document, against every route of the whole system. The seed
// is fixed and printed; HELIOGRAPH_FUZZ_SEED and HELIOGRAPH_FUZZ_REQUESTS give others. A failure shows the smallest
// request that still fails the same way.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MessageStatus, isTerminal } from '../../model/status.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import type { SmsClient, SmsView } from '../support/sms-client.ts';
import { brokenRequests, sendBroken } from './broken-http.ts';
import { makeCallers } from './callers.ts';
import { type OpenApi, fitsOf, operationsOf } from './document.ts';
import type { FuzzRequest } from './request.ts';
import { requestsOf } from './requests.ts';
import { type Finding, judgeOf } from './verdict.ts';
import { type FuzzReply, Wire, connections, jsonOf } from './wire.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';

const seed = Number(process.env['HELIOGRAPH_FUZZ_SEED'] ?? 20_260_101);
const requestsTotal = Number(process.env['HELIOGRAPH_FUZZ_REQUESTS'] ?? 15_000);
const brokenTotal = Math.floor(requestsTotal * 0.03);
/** Alone on two cores it takes half a minute; beside other work several times that. */
const timeoutMs = 400_000;
const shownMax = 8;

let harness: SystemHarness;
let live: SmsClient;
let test: SmsClient;
let wire: Wire;
let document: OpenApi;
let operatorKey: string | null;

beforeAll(async () => {
  harness = await openSystemHarness();
  live = harness.client;
  test = harness.clientOf(harness.system.keys.testKey);
  const { keys, templateId } = await makeCallers(harness.system, live);
  operatorKey = keys.operator;
  wire = new Wire(harness.system.httpPort, keys);
  wire.remember('approved', templateId);
  document = (await live.call('GET', '/openapi.json')).json as unknown as OpenApi;
});
afterAll(async () => {
  wire?.close();
  await harness?.stop();
});

describe(`${requestsTotal} requests of seed ${seed}`, () => {
  /** Ids that were answered 202. */
  const accepted = new Set<string>();

  it('are all answered according to the document', { timeout: timeoutMs }, async () => {
    const operations = operationsOf(document);
    const schemaFits = (name: string) => fitsOf(document, { $ref: `#/components/schemas/${name}` });
    const judge = judgeOf(operations, schemaFits('Problem'), schemaFits('SendSms'));
    const requests = requestsOf(document, operations);
    const tally = new Map<string, number>();

    const tryOne = async (request: FuzzRequest): Promise<{ finding: Finding; shown: string }> => {
      const sent = wire.fill(request);
      const reply = await wire.send(sent);
      const finding = judge(request, sent, reply);
      if ('status' in reply) {
        harvest(sent.method, sent.path, reply);
        count(tally, `${request.operation ?? 'stray'} ${reply.status}`);
      }
      return { finding, shown: finding === null ? '' : show(request, sent.path, finding) };
    };

    const found = new Map<string, { index: number; shown: string; times: number }>();
    const all = fc.sample(requests, { seed, numRuns: requestsTotal - brokenTotal });
    const broken = fc.sample(brokenRequests, { seed, numRuns: brokenTotal });
    const beganMs = systemClock.monotonicMs();
    let next = 0;
    const work = async () => {
      for (let index = next++; index < all.length; index = next++) {
        const { finding, shown } = await tryOne(all[index] as FuzzRequest);
        if (finding === null) continue;
        const before = found.get(finding.kind);
        if (before === undefined) found.set(finding.kind, { index, shown, times: 1 });
        else before.times += 1;
      }
    };
    let nextBroken = 0;
    const breakThings = async () => {
      for (let index = nextBroken++; index < broken.length; index = nextBroken++) {
        const statuses = await sendBroken(harness.system.httpPort, broken[index] as string);
        const bad = statuses.find((status) => status >= 500 && status !== 505);
        if (bad !== undefined)
          found.set(`${bad} for broken HTTP`, { index: -1, shown: JSON.stringify(broken[index]), times: 1 });
      }
    };
    await Promise.all([...Array.from({ length: connections }, work), breakThings(), breakThings(), breakThings()]);
    const tookMs = Math.round(systemClock.monotonicMs() - beganMs);

    const smallest: string[] = [];
    for (const [kind, { index, shown, times }] of [...found].slice(0, shownMax)) {
      smallest.push(
        `${kind} (${times} times)\n${index < 0 ? shown : await shrunk(requests, index, kind, shown, tryOne)}`,
      );
    }
    process.stdout.write(
      `fuzz: seed ${seed}, ${requestsTotal} requests in ${tookMs} ms, ${accepted.size} messages accepted\n`,
    );
    if (process.env['HELIOGRAPH_FUZZ_TALLY'] !== undefined) {
      process.stdout.write(
        `${[...tally]
          .toSorted(([one], [other]) => one.localeCompare(other))
          .map(([name, times]) => `${times}\t${name}`)
          .join('\n')}\n`,
      );
    }
    expect(smallest.join('\n\n')).toBe('');
    expect(found.size).toBe(0);
    // A fuzz test that reaches nothing proves nothing.
    for (const { name, answers } of operations) {
      const successes = [...answers.keys()].filter((status) => status < 300);
      expect(
        successes.reduce((sum, status) => sum + (tally.get(`${name} ${status}`) ?? 0), 0),
        name,
      ).toBeGreaterThan(0);
    }
  });

  it('leave every accepted message ended, or waiting for its time', { timeout: timeoutMs }, async () => {
    await resumeEverything();
    let open: string[] = [];
    const look = async () => {
      const views = [...(await live.list()), ...(await test.list())] as (SmsView & { scheduled_at?: string })[];
      const byId = new Map(views.map((view) => [view.id, view]));
      const soonMs = systemClock.nowMs() + 60_000;
      open = [...accepted].flatMap((id) => {
        const view = byId.get(id);
        if (view === undefined) return [`${id} missing`];
        const waits = view.status === 'scheduled' && Date.parse(view.scheduled_at ?? '') > soonMs;
        return waits || isTerminal(view.status as MessageStatus) ? [] : [`${id} ${view.status} ${view.to}`];
      });
      return open.length === 0;
    };
    await until('every message ended', look, { limitMs: 90_000, everyMs: 1_000 }).catch((error: unknown) => {
      throw new Error(`${open.length} of ${accepted.size} are open: ${open.slice(0, 10).join(', ')}`, { cause: error });
    });
  });

  it('leave every child alive and no alarm in the log', async () => {
    const health = await harness.system.readiness();
    expect(health?.children.filter((child) => !child.ready || child.restarts > 0)).toEqual([]);
    const lines = `${harness.system.stdout()}\n${harness.system.stderr()}`.split('\n');
    expect(lines.filter((line) => /"level":"(error|fatal)"|[Uu]nhandled|uncaught/.test(line)).slice(0, 5)).toEqual([]);
    expect(await harness.system.stop()).toBe(0);
  });

  /** Carriers were paused and drained like everything else: from here on they run. */
  async function resumeEverything(): Promise<void> {
    const call = async (method: string, path: string, body?: object) =>
      (await live.call(method, path, body, { authorization: `Bearer ${operatorKey}` })).json;
    const { data } = (await call('GET', '/v1/carriers')) as { data?: { name: string; binds: { bind: number }[] }[] };
    for (const { name, binds } of data ?? []) {
      const paths = [
        `/v1/carriers/${name}/resume`,
        ...binds.map(({ bind }) => `/v1/carriers/${name}/binds/${bind}/resume`),
      ];
      // Not in effect: the nodes that serve the carrier were too busy to report it in time.
      for (const path of paths) await until(path, async () => (await call('POST', path, {}))['in_effect'] === true);
    }
    expect(data?.length).toBeGreaterThan(0);
  }

  function harvest(method: string, path: string, { status, text }: FuzzReply): void {
    if (status < 200 || status > 202) return;
    const json = jsonOf(text) as Record<string, unknown> | undefined;
    if (json === undefined) return;
    const kinds: Record<string, string> = {
      api_key: 'key',
      sender: 'sender',
      template: 'template',
      suppression: 'suppression',
      sms: 'sms',
      webhook: 'webhook',
      otp: 'otp',
    };
    const kind = kinds[String(json['object'])];
    if (method === 'POST' && kind !== undefined) wire.remember(kind, String(json['id']));
    if (path.startsWith('/v1/links')) {
      for (const { id } of (json['data'] ?? []) as { id: string }[]) wire.remember('link', id);
    }
    if (typeof json['next_cursor'] === 'string') wire.remember('cursor', json['next_cursor']);
    if (status !== 202) return;
    if (kind === 'sms') accepted.add(String(json['id']));
    for (const result of (json['results'] ?? []) as { id?: string }[]) {
      if (result.id === undefined) continue;
      wire.remember('sms', result.id);
      accepted.add(result.id);
    }
  }
});

/** The smallest request that still has this finding, tried on the present system. */
async function shrunk(
  requests: fc.Arbitrary<FuzzRequest>,
  index: number,
  kind: string,
  before: string,
  tryOne: (request: FuzzRequest) => Promise<{ finding: Finding; shown: string }>,
): Promise<string> {
  let smallest = before;
  const property = fc.asyncProperty(requests, async (request) => {
    const { finding, shown } = await tryOne(request);
    if (finding?.kind !== kind) return true;
    smallest = shown;
    return false;
  });
  await fc.check(property, { seed, path: String(index), numRuns: 1, interruptAfterTimeLimit: 5_000 });
  return smallest;
}

function show(request: FuzzRequest, path: string, { why }: NonNullable<Finding>): string {
  const body = request.body.kind === 'json' ? JSON.stringify(request.body.value) : JSON.stringify(request.body);
  return `${request.method} ${path} as ${request.key} ${JSON.stringify(request.headers)}\n${body.slice(0, 800)}\n→ ${why}`;
}

function count(tally: Map<string, number>, name: string): void {
  tally.set(name, (tally.get(name) ?? 0) + 1);
}
