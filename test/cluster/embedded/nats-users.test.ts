// Each role is a user of its own on the embedded nats-server, has the permissions its work needs and no others, and
// never sends a password.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PermissionViolationError, nkeyAuthenticator, nkeys } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Bus, connectBus } from '../../../cluster/bus/connect.ts';
import { ensureStreams } from '../../../cluster/bus/ensure.ts';
import { parkedFiller } from '../../../cluster/bus/subjects.ts';
import { publicKeyOf, seedAuthenticator } from '../../../cluster/bus/nkeys.ts';
import { natsUrl, type NatsUser, natsUsers, userSeed } from '../../../cluster/embedded/nats.ts';
import { natsServerBinary } from '../../../cluster/embedded/nats-binary.ts';
import {
  type NatsRole,
  type Permissions,
  accessAll,
  natsRoles,
  permissionsOf,
} from '../../../cluster/embedded/nats-permissions.ts';
import { streamsWithNumbers } from '../../../control/erasure/erase-streams.ts';
import { until } from '../../support/until.ts';
import { runCli } from '../../support/cli.ts';
import { type TestBus, startBus } from '../../support/bus.ts';

const secret = 'test-only';
let harness: TestBus;
let port: number;
beforeAll(async () => {
  harness = await startBus('test');
  port = Number(new URL(harness.nats.url).port);
});
afterAll(() => harness?.stop());

async function as<T>(user: NatsUser, work: (bus: Bus) => Promise<T>): Promise<T> {
  const bus = await connectBus(natsUrl({ port, password: secret }, user), 'test');
  try {
    return await work(bus);
  } finally {
    await bus.close();
  }
}

const roles = natsRoles;
type Asked = { publish?: readonly string[]; subscribe?: readonly string[] };

/** Which of these the server forbids a role, by its errors on the connection. */
async function forbidden(role: NatsUser, { publish = [], subscribe = [] }: Asked): Promise<ReadonlySet<string>> {
  return as(role, async (bus) => {
    const { connection } = bus;
    const said = new Set<string>();
    void (async () => {
      for await (const status of connection.status()) {
        if (status.type !== 'error' || !(status.error instanceof PermissionViolationError)) continue;
        said.add(`${status.error.operation === 'publish' ? 'publish' : 'subscribe'} ${status.error.subject}`);
      }
    })();
    for (const subject of publish) connection.publish(subject, 'x');
    for (const subject of subscribe) connection.subscribe(subject, { callback: () => {} });
    // The server answers in order: its errors have arrived, and the loop above has read them.
    await connection.flush();
    connection.publish('forbidden.to.all', 'x');
    await until('the last word', () => said.has('publish forbidden.to.all'));
    said.delete('publish forbidden.to.all');
    return said;
  });
}

/**
 * w: publishes to it · r: reads it, in any way the server has · x: removes what others wrote ·
 * e: reads and overwrites single records, to erase a number.
 */
const expected: Record<string, Partial<Record<(typeof roles)[number], string>>> = {
  MT_OTP: { ingress: 'w', actors: 'wrx' },
  MT_TXN: { ingress: 'w', actors: 'wrx' },
  MT_PROMO: { ingress: 'w', actors: 'wrx' },
  SCHEDULED: { ingress: 'w', actors: 'wr', control: 'e' },
  HOLDS: { actors: 'wr', control: 'e' },
  LATER: { actors: 'wr', control: 'e' },
  CANCELS: { ingress: 'wr', actors: 'wrx', control: 'wr' },
  LINKS: { ingress: 'wr', control: 'wr' },
  CLICKS: { ingress: 'w', analytics: 'rx' },
  FACTS: { ingress: 'w', actors: 'w', analytics: 'wrx', control: 're', delivery: 'r' },
  INBOUND: { actors: 'wrx', control: 'r' },
  EVENTS: { ingress: 'w', actors: 'wr', analytics: 'wrx', control: 'wr', delivery: 'r' },
  WEBHOOK_LOG: { delivery: 'wrx', control: 'e' },
  WEBHOOK_ATTEMPTS: { delivery: 'w', control: 're' },
  ORDERS: { actors: 'r', control: 'wrx' },
  DEAD: { actors: 'w', control: 'we', analytics: 'w', delivery: 'w' },
  KV_directory: { ingress: 'r', actors: 'r', control: 'wr', delivery: 'r' },
  KV_suppression: { ingress: 'r', actors: 'wr', control: 'wrx', delivery: 'r' },
  KV_idempotency: { ingress: 'wr', control: 'wr' },
  KV_clock: { ingress: 'wr', actors: 'wr', control: 'wr', analytics: 'wr', delivery: 'wr' },
  KV_scheduled: { ingress: 'wr' },
  KV_otp: { ingress: 'wr', actors: 'r', control: 'wre' },
  KV_otp_failures: { ingress: 'wr', control: 'wr' },
  KV_otp_guard: { ingress: 'wrx', control: 'wrx', actors: 'r' },
  KV_otp_events: { actors: 'wrx' },
  KV_recorder: { analytics: 'wr' },
  KV_inbound: { actors: 'wr' },
  KV_replay: { actors: 'wr', analytics: 'r' },
  KV_webhooks: { control: 'r', delivery: 'wrx', analytics: 'r' },
  KV_leases: { actors: 'wrx' },
  KV_erasures: { control: 'wr', analytics: 'wr' },
  KV_installation: { ingress: 'wr', actors: 'wr', analytics: 'wr', control: 'wr', delivery: 'wr' },
  KV_registry: { ingress: 'r', actors: 'r' },
};

test('control puts a decision it cannot read into DEAD, and publishes nothing else of subscribers', async () => {
  const publish = ['mo.alpha.decided.unread', 'mo.alpha.decided', 'mo.alpha.in', 'mo.alpha'];
  expect([...(await forbidden('control', { publish }))].sort()).toEqual([
    'publish mo.alpha',
    'publish mo.alpha.decided',
    'publish mo.alpha.in',
  ]);
});

test('control writes fillers into WEBHOOK_LOG, and nobody else does; delivery, which writes lines, may', async () => {
  for (const role of ['ingress', 'actors', 'analytics'] as const)
    expect([...(await forbidden(role, { publish: [parkedFiller] }))]).toEqual([`publish ${parkedFiller}`]);
  const publish = [parkedFiller, 'whl.acc.whe', 'whr.acc.whe'];
  expect([...(await forbidden('control', { publish }))].sort()).toEqual(['publish whl.acc.whe', 'publish whr.acc.whe']);
});

/** A subject that a filter of a stream stores. */
const example = (filter: string) => filter.replace('>', 'x.1');

test('the table has every stream and bucket of the server, with the subjects that it stores', async () => {
  const found: Record<string, string[]> = {};
  for await (const { config } of harness.bus.manager.streams.list()) found[config.name] = config.subjects ?? [];
  expect(Object.keys(found).sort()).toEqual(Object.keys(expected).sort());
  expect(Object.fromEntries(accessAll.map(([name, { subjects }]) => [name, subjects]))).toEqual(found);
});

test.each(roles)('%s may write, read and remove where the table says so, and nowhere else', async (role) => {
  const ways = accessAll.map(([name, { subjects }]) => ({
    name,
    write: subjects.map(example),
    get: [`$JS.API.STREAM.MSG.GET.${name}`],
    read: [
      `$JS.API.DIRECT.GET.${name}`,
      `$JS.API.DIRECT.GET.${name}.${example(subjects[0] ?? '')}`,
      `$JS.API.CONSUMER.CREATE.${name}`,
      `$JS.API.CONSUMER.CREATE.${name}.mine`,
      `$JS.API.CONSUMER.CREATE.${name}.mine.${example(subjects[0] ?? '')}`,
      `$JS.API.CONSUMER.DURABLE.CREATE.${name}.mine`,
      `$JS.API.CONSUMER.DELETE.${name}.mine`,
      `$JS.API.CONSUMER.MSG.NEXT.${name}.mine`,
      `$JS.ACK.${name}.mine.1.1.1.1.0`,
    ],
    purge: [`$JS.API.STREAM.PURGE.${name}`],
    remove: [`$JS.API.STREAM.MSG.DELETE.${name}`],
    listen: subjects,
  }));
  const refused = await forbidden(role, {
    publish: ways.flatMap(({ write, get, read, purge, remove }) => [...write, ...get, ...read, ...purge, ...remove]),
    subscribe: ways.flatMap(({ listen }) => listen),
  });
  const may = (subjects: readonly string[], name: string) => {
    const taken = subjects.filter((subject) => !refused.has(`publish ${subject}`));
    // All of them or none.
    expect([name, taken]).toEqual([name, taken.length === 0 ? [] : subjects]);
    return taken.length > 0;
  };
  const found = ways.map(({ name, write, get, read, purge, remove, listen }) => {
    // Nor may they subscribe to the subjects that a stream stores.
    expect([name, listen.filter((subject) => !refused.has(`subscribe ${subject}`))]).toEqual([name, []]);
    const [reads, purges] = [may(read, name), may(purge, name)];
    const erases = may(remove, name) && !purges;
    expect([name, may(get, name), may(remove, name)]).toEqual([name, reads || erases, purges || erases]);
    return [name, `${may(write, name) ? 'w' : ''}${reads ? 'r' : ''}${purges ? 'x' : ''}${erases ? 'e' : ''}`];
  });
  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries(Object.entries(expected).map(([name, by]) => [name, by[role] ?? ''])),
  );
});

test('who erases a number may do so in every stream that has numbers', () => {
  const may = streamsWithNumbers.filter((stream) => expected[stream]?.control?.includes('e') === true);
  expect(may).toEqual(streamsWithNumbers);
});

/** Who publishes and who subscribes to what no stream stores. */
const spoken: Record<string, { publish: readonly NatsUser[]; subscribe: readonly NatsUser[] }> = {
  'health.carrier.alpha': { publish: ['actors'], subscribe: ['ingress', 'actors'] },
  'overflow.carrier.alpha': { publish: ['actors'], subscribe: ['ingress'] },
  'times.carrier.alpha': { publish: ['actors'], subscribe: ['ingress'] },
  'notify.clocks': { publish: roles, subscribe: roles },
  'notify.commands': { publish: ['control'], subscribe: ['actors'] },
  'notify.keys_used': { publish: ['ingress'], subscribe: ['control'] },
  'notify.otp_guard': { publish: ['ingress', 'actors'], subscribe: ['ingress'] },
  'ask.carriers': { publish: ['control'], subscribe: ['actors'] },
  'flight.carriers': { publish: [], subscribe: ['actors'] },
  'flight.carrier.alpha': { publish: [], subscribe: ['actors'] },
  'flight.node.one': { publish: [], subscribe: ['actors'] },
  'q.sms.get': { publish: ['ingress', 'actors', 'delivery'], subscribe: ['analytics'] },
  'q.sms.list': { publish: ['ingress', 'actors'], subscribe: ['analytics'] },
  'q.sms.submitted': { publish: ['ingress', 'actors'], subscribe: ['analytics'] },
  'q.sms.writer': { publish: ['ingress', 'actors'], subscribe: ['analytics'] },
  'q.sms.again': { publish: ['delivery'], subscribe: ['analytics'] },
  'q.fact.again': { publish: ['delivery'], subscribe: ['analytics'] },
  'webhooks.deliveries': { publish: ['control'], subscribe: ['delivery'] },
  'webhooks.test': { publish: ['control'], subscribe: ['delivery'] },
  'webhooks.replay': { publish: ['control'], subscribe: ['delivery'] },
  'webhooks.disable': { publish: ['delivery'], subscribe: ['control'] },
  'q.report.run': { publish: ['control'], subscribe: ['analytics'] },
  'q.report.part.one': { publish: ['control'], subscribe: ['analytics'] },
  'q.recorder.report.run': { publish: ['analytics'], subscribe: ['analytics'] },
  'q.recorder.sms.get': { publish: ['analytics'], subscribe: ['analytics'] },
  ...Object.fromEntries(
    roles.map((role) => {
      const answered: Partial<Record<NatsUser, NatsUser>> = {
        ingress: 'control',
        delivery: 'control',
        control: 'delivery',
      };
      const publish = ['actors', 'analytics', answered[role] ?? 'actors'] as const;
      return [`_INBOX.${role}.abc.1`, { publish, subscribe: [role] }] as const;
    }),
  ),
};

test.each(roles)(
  '%s publishes and receives beside the streams what the table says, and receives no answer to another',
  async (role) => {
    const subjects = Object.keys(spoken);
    const refused = await forbidden(role, { publish: subjects, subscribe: subjects });
    const found = subjects.map((subject) => [
      subject,
      { publish: !refused.has(`publish ${subject}`), subscribe: !refused.has(`subscribe ${subject}`) },
    ]);
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(
        Object.entries(spoken).map(([subject, { publish, subscribe }]) => [
          subject,
          { publish: publish.includes(role), subscribe: subscribe.includes(role) },
        ]),
      ),
    );
  },
);

test.each(roles)('%s may nothing else: no deletion, no copy, no subscription to everything', async (role) => {
  const publish = [
    ...['$JS.API.STREAM.DELETE.EVENTS', '$JS.API.STREAM.SNAPSHOT.EVENTS', '$JS.API.STREAM.RESTORE.EVENTS'],
    ...['$JS.API.STREAM.CREATE.MINE', '$JS.API.STREAM.UPDATE.MINE', '$JS.API.ACCOUNT.PURGE.x', '$JS.API.SERVER.REMOVE'],
    ...['$SYS.REQ.SERVER.PING', '$KV.mine.x', 'mine', 'published.them'],
  ];
  const subscribe = ['>', '*.>', '_INBOX.>', '_INBOX.*.>', '$JS.>', '$KV.>', '$SYS.>', '$JS.API.>', '$JS.ACK.>', 'q.>'];
  expect([...(await forbidden(role, { publish, subscribe }))].sort()).toEqual(
    [...publish.map((subject) => `publish ${subject}`), ...subscribe.map((subject) => `subscribe ${subject}`)].sort(),
  );
});

test("the command line prints the same for an operator's own server, also for a machine with several roles", async () => {
  const { stdout } = await runCli(['nats-permissions', '--json'], {});
  const { data } = JSON.parse(stdout) as { data: { roles: string[]; inbox: string; permissions: Permissions }[] };
  expect(data).toEqual(
    roles.map((role) => ({ roles: [role], inbox: `_INBOX.${role}`, permissions: permissionsOf(role) })),
  );
  const both = await runCli(['nats-permissions', '--roles', 'ingress,carriers'], {});
  expect(both.stdout).toContain('?inbox=_INBOX.ingress');
  // A server accepts its configuration.
  const folder = mkdtempSync(join(tmpdir(), 'heliograph-permissions-'));
  writeFileSync(join(folder, 'nats.conf'), both.stdout.replaceAll('…', 'secret'));
  const taken = spawnSync(natsServerBinary(), ['-t', '-c', join(folder, 'nats.conf')], { encoding: 'utf8' });
  expect([taken.status, taken.stderr]).toEqual([0, expect.stringContaining('is valid')]);
  rmSync(folder, { recursive: true });
  const of = (...those: NatsRole[]) => permissionsOf(...those).publish;
  expect(new Set(of('ingress', 'actors'))).toEqual(new Set([...of('ingress'), ...of('actors')]));
  expect((await runCli(['nats-permissions', '--roles', 'ingres'], {})).code).not.toBe(0);
});

test.each(roles)('%s brings the streams up to date at its start, and removes none', async (role) => {
  await as(role, async (bus) => {
    await ensureStreams(bus);
    await expect(bus.manager.streams.delete('EVENTS')).rejects.toThrow();
  });
  expect((await harness.bus.manager.streams.info('EVENTS')).config.name).toBe('EVENTS');
});

test('no connection succeeds without a key, with a password, or with the key of another installation', async () => {
  const other = `nats://${userSeed('another', 'operator')}@127.0.0.1:${port}`;
  for (const url of [`nats://127.0.0.1:${port}`, `nats://heliograph:${secret}@127.0.0.1:${port}`, other]) {
    await expect(connectBus(url, 'test', 2_000)).rejects.toThrow(/authorization/i);
  }
});

test('a process that takes the port of a stopped server gets a signature and no secret', async () => {
  let received = '';
  const impostor = createServer((socket) => {
    socket.write(
      `INFO ${JSON.stringify({ server_id: 'x', version: '2.10.0', proto: 1, max_payload: 1e6, nonce: 'abc' })}\r\n`,
    );
    socket.on('data', (octets) => (received += octets.toString('latin1')));
    socket.on('error', () => {});
  }).listen(0, '127.0.0.1');
  await once(impostor, 'listening');
  const { port: taken } = impostor.address() as AddressInfo;
  const url = natsUrl({ port: taken, password: secret }, 'ingress');
  await expect(connectBus(url, 'test', 1_000)).rejects.toThrow();
  expect(received).toContain('CONNECT {');
  expect(received).toContain('"sig"');
  expect(received).not.toContain(new URL(url).username);
  expect(received).not.toContain(secret);
  impostor.close();
});

test('keys are in NATS format: one for each user, the same each time, and sign as the NATS client does', () => {
  const seeds = natsUsers.map((user) => userSeed(secret, user));
  expect(new Set(seeds).size).toBe(natsUsers.length);
  for (const seed of seeds) {
    expect(seed).toMatch(/^SU[A-Z2-7]{56}$/);
    const octets = new TextEncoder().encode(seed);
    expect(nkeys.fromSeed(octets).getPublicKey()).toMatch(/^U[A-Z2-7]{55}$/);
    expect(publicKeyOf(seed)).toBe(nkeys.fromSeed(octets).getPublicKey());
    for (const challenge of ['PXoWU7zWAMt75FY', 'a', undefined]) {
      expect(seedAuthenticator(seed)(challenge)).toEqual(nkeyAuthenticator(octets)(challenge));
    }
  }
  expect(userSeed(secret, 'ingress')).toBe(userSeed(secret, 'ingress'));
});

test('a seed with a mistake, or one of an account, is refused with a sentence', () => {
  const seed = userSeed(secret, 'ingress');
  const swapped = `${seed.slice(0, 20)}${seed[21]}${seed[20]}${seed.slice(22)}`;
  const account = new TextDecoder().decode(nkeys.createAccount().getSeed());
  for (const wrong of [swapped, seed.slice(0, -1), `${seed}A`, account, '']) {
    expect(() => publicKeyOf(wrong)).toThrow('this is not the nkey seed of a user');
  }
});
