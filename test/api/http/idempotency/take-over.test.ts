// The ingress dies during a keyed request, and the client returns when the stream has forgotten what may have been
// published: the record published then says that it may be the second (republished.ts), over every route that
// publishes, and one within the duplicate window does not. Read from the record in its stream.
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
beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  ingress = await harness.ingress();
  await harness.analytics();
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
];

/** As if that much more time had passed since then. */
async function age(byMs: number): Promise<void> {
  const { manager, jetstream } = harness.bus;
  const stream = 'KV_idempotency';
  const { state } = await manager.streams.info(stream, { subjects_filter: subjectInBucket('idempotency', 'p.>') });
  for (const subject of Object.keys(state.subjects ?? {})) {
    const record = await manager.streams.getMessage(stream, { last_by_subj: subject });
    const page = readPage(record?.data ?? new Uint8Array());
    let aged = page;
    for (const [own, { entry, stamp }] of entriesOf(page)) {
      const older = { ...entry, createdAtMs: entry.createdAtMs - byMs };
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

test.each(
  routes.flatMap(([name, route]) => [
    [name, 'long after the first try', route, true] as const,
    [name, 'while the stream remembers', route, false] as const,
  ]),
)('%s that is taken over %s', async (name, when, { path, body, stream, records }, isMarked) => {
  for (const each of ['MT_TXN', 'SCHEDULED', 'KV_idempotency']) await harness.bus.manager.streams.purge(each);
  const key = { 'idempotency-key': `${name} ${when}` };
  const publish = stream === 'SCHEDULED' ? 'HPUB scheduled.' : 'HPUB mt.';
  const proxy = await cutProxy(harness.nats.url, { when: publish, times: 1, what: 'requests' });
  const doomed = await harness.ingress({ NATS_URL: proxy.url });
  const lost = call(doomed, 'POST', path, tenant.live, body, key).catch((error: unknown) => error);
  await until('the publish', proxy.isCut, { everyMs: 1 });
  await doomed.kill9();
  await lost;
  proxy.close();
  await age(isMarked ? limits.bus.duplicateWindowMs * 2 : 0);

  const accepted = async () => {
    const answer = await call(ingress, 'POST', path, tenant.live, body, key);
    return answer.status === 202 && answer;
  };
  const answer = await until('it is accepted', accepted, { everyMs: 200 });
  expect(answer.headers.get('idempotent-replayed')).toBeNull();
  const found = await recordsIn(stream);
  expect(found).toHaveLength(records);
  expect(found.map((record) => isAgain(record as never))).toEqual(found.map(() => isMarked));
});
