// The ingress dies during a keyed request, and the client returns. When the stream may have forgotten what may have been
// published, the record published then says that it may be the second (republished.ts), over every route that publishes:
// after the duplicate window, and within it where the event store does not answer, because a restart of nats-server may
// have come between. Read from the record in its stream.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isAgain } from '../../../../cluster/bus/republished.ts';
import { subjectInBucket } from '../../../../cluster/bus/streams.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { limits } from '../../../../platform/limits.ts';
import { changedPage, entriesOf, readPage, timesBeginMs } from '../../../../acceptance/idempotency/entry.ts';
import { cutProxy } from '../../../support/cut-proxy.ts';
import { type Harness, type Ingress, type Tenant, call, goodBody, openHarness } from '../harness.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;
let analytics: Awaited<ReturnType<Harness['analytics']>>;
beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  ingress = await harness.ingress();
  analytics = await harness.analytics();
});
afterAll(() => harness.stop());

const inAnHour = () => new Date(systemClock.nowMs() + 3_600_000).toISOString();
const laterAt = inAnHour();
const routes: [string, { path: string; body: object; stream: string; records: number }][] = [
  ['a single message', { path: '/v1/sms', body: goodBody, stream: 'MT_TXN', records: 1 }],
  [
    'a batch',
    {
      path: '/v1/sms/batch',
      body: { messages: [1, 2, 3].map((at) => ({ ...goodBody, message: `n ${at}` })) },
      stream: 'MT_TXN',
      records: 3,
    },
  ],
  [
    'a message for later',
    { path: '/v1/sms', body: { ...goodBody, send_at: laterAt }, stream: 'SCHEDULED', records: 1 },
  ],
  ['a one-time password', { path: '/v1/otp', body: { to: goodBody.to }, stream: 'MT_OTP', records: 1 }],
];

/** As if the first try had begun so long ago. */
async function age(agoMs: number): Promise<void> {
  const { manager, jetstream } = harness.bus;
  const stream = 'KV_idempotency';
  const { state } = await manager.streams.info(stream, { subjects_filter: subjectInBucket('idempotency', 'p.>') });
  for (const subject of Object.keys(state.subjects ?? {})) {
    const record = await manager.streams.getMessage(stream, { last_by_subj: subject });
    const page = readPage(record?.data ?? new Uint8Array());
    let aged = page;
    for (const [own, { entry, stamp }] of entriesOf(page)) {
      const older = { ...entry, createdAtMs: Math.floor(systemClock.nowMs()) - agoMs };
      const ended = older.state === 'running' ? { ...older, leaseUntilMs: timesBeginMs } : older;
      aged = changedPage(aged, own, { stamp, entry: ended }, 0);
    }
    await jetstream.publish(subject, aged);
  }
}

async function recordsIn(stream: string) {
  const { state } = await harness.bus.manager.streams.info(stream);
  const found = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
    const record = await harness.bus.manager.streams.getMessage(stream, { seq });
    if (record !== null) found.push({ headers: record.header });
  }
  return found;
}

async function takenOver(
  name: string,
  { path, body, stream, records }: (typeof routes)[number][1],
  { agoMs, isMarked }: { readonly agoMs: number; readonly isMarked: boolean },
): Promise<void> {
  for (const each of ['MT_TXN', 'MT_OTP', 'SCHEDULED', 'KV_idempotency', 'KV_otp'])
    await harness.bus.manager.streams.purge(each);
  const key = { 'idempotency-key': name };
  const publish = stream === 'SCHEDULED' ? 'HPUB scheduled.' : 'HPUB mt.';
  const proxy = await cutProxy(harness.nats.url, { when: publish, times: 1, what: 'requests' });
  const doomed = await harness.ingress({ NATS_URL: proxy.url });
  const lost = call(doomed, 'POST', path, tenant.live, body, key).catch((error: unknown) => error);
  await until('the publish', proxy.isCut, { everyMs: 1 });
  await doomed.kill9();
  await lost;
  proxy.close();
  await age(agoMs);

  const accepted = async () => {
    const answer = await call(ingress, 'POST', path, tenant.live, body, key);
    return answer.status < 300 && answer;
  };
  const answer = await until('it is accepted', accepted, { everyMs: 200 });
  expect(answer.headers.get('idempotent-replayed')).toBeNull();
  const found = await recordsIn(stream);
  expect(found).toHaveLength(records);
  expect(found.map((record) => isAgain(record as never))).toEqual(found.map(() => isMarked));
}

test.each(
  routes.flatMap(([name, route]) => [
    [name, 'long after the first try', route, { agoMs: limits.bus.duplicateWindowMs * 2, isMarked: true }] as const,
    [name, 'while the stream remembers', route, { agoMs: 0, isMarked: false }] as const,
  ]),
)('%s that is taken over %s', async (name, when, route, how) => takenOver(`${name} ${when}`, route, how));

test.each(routes)('%s that is taken over while the event store does not answer', async (name, route) => {
  await analytics.stop();
  await takenOver(`${name} unanswered`, route, { agoMs: 0, isMarked: true });
});
